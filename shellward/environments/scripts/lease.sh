# The main process of a sandbox with a lease: it ends, and the sandbox with it, when nobody has changed the file
# $1 for $2 seconds. Clients change it; a clock is not needed, so a suspended machine costs nobody his sandbox.
# With $3, a directory, the script $4 (door.sh) is run beside it.
if [ -n "$3" ]; then setsid setsid sh -c "$4" shellward-door "$3" </dev/null; fi >/dev/null 2>&1
trap 'exit 0' TERM INT
left=$2
last=
step=$(($2 / 8 + 1))
while [ "$left" -gt 0 ]; do
  sleep "$step" &
  wait "$!"
  left=$((left - step))
  now=
  read -r now <"$1"
  if [ "$now" != "$last" ]; then last=$now left=$2; fi
done 2>/dev/null
