# The main process of a sandbox with a lease: it ends, and the sandbox with it, when nobody has changed the file
# $1 for $2 seconds. Clients change it; a clock is not needed, so a suspended machine costs nobody his sandbox.
# With $3, a directory, the script $4 (door.sh) is run beside it. $5 holds the directories of background processes: one
# that runs keeps the sandbox for the seconds after its start that stand in its file "supervisor", as if it renewed it.
if [ -n "$3" ]; then
  if command -v setsid; then setsid setsid sh -c "$4" shellward-door "$3" </dev/null; else echo 1<>"$3/up"; fi
fi >/dev/null 2>&1
trap 'exit 0' TERM INT
# Whether such a process is there.
held() {
  read -r up now </proc/uptime
  for p in "$1"/*/supervisor; do
    if [ -e "${p%supervisor}status" ] || ! read -r pid born now ttl <"$p"; then continue; fi
    if ! read -r now <"/proc/$pid/stat"; then continue; fi
    set -- "$1" ${now##*) }
    if [ "${21}" = "$born" ] && [ $((${up%%.*} - born / 100)) -lt "$ttl" ]; then return 0; fi
  done
  return 1
}
left=$2
last=
step=$(($2 / 8 + 1))
while [ "$left" -gt 0 ]; do
  sleep "$step" &
  wait "$!"
  left=$((left - step))
  now=
  read -r now <"$1"
  if [ "$now" != "$last" ] || held "$5"; then last=$now left=$2; fi
done 2>/dev/null
