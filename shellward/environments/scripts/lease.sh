# The main process of a sandbox with a lease: it ends, and the sandbox with it, when nobody has changed the file
# $1 for $2 seconds. Clients change it; a clock is not needed, so a suspended machine costs nobody his sandbox.
# With $3, a directory, the script $4 (door.sh) is run beside it. $5 holds the directories of background processes: one
# that runs keeps the sandbox for the seconds after its start that stand in its file "supervisor", as if it renewed it.
# $6 is "outside" where this runs in another process table than they do, one that theirs is a part of.
if [ -n "$3" ]; then
  if command -v setsid; then setsid setsid sh -c "$4" shellward-door "$3" </dev/null; else echo 1<>"$3/up"; fi
fi >/dev/null 2>&1
trap 'exit 0' TERM INT
# See whether the process $1 of another table, born at $2, is there; "now" holds its state then.
found() {
  for q in /proc/[0-9]*; do
    if ! read -r now <"$q/stat"; then continue; fi
    set -- "$1" "$2" ${now##*) }
    if [ "${22}" != "$2" ]; then continue; fi
    while read -r key numbers; do
      if [ "$key" = NSpid: ] && [ "${numbers##*[!0-9]}" = "$1" ]; then return 0; fi
    done <"$q/status"
  done
  return 1
}
# Whether such a process is there.
held() {
  read -r up now </proc/uptime
  for p in "$1"/*/supervisor; do
    if read -r now <"${p%supervisor}status" || ! read -r pid born now ttl <"$p"; then continue; fi
    if [ "$2" = outside ]; then
      if ! found "$pid" "$born"; then continue; fi
    elif ! read -r now <"/proc/$pid/stat"; then
      continue
    fi
    set -- "$1" "$2" ${now##*) }
    if [ "${22}" = "$born" ] && [ $((${up%%.*} - born / 100)) -lt "$ttl" ]; then return 0; fi
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
  if [ "$now" != "$last" ] || held "$5" "$6"; then last=$now left=$2; fi
done 2>/dev/null
