# Holds one end of a channel and keeps a shell at it. It runs under any POSIX sh, with the wanted shell as $1.
#
# It reads the channel's key first, so that nobody else in the sandbox can know it. When the shell ends, in
# whatever way, it says so on both streams, throws away what was sent to the dead shell (up to a line with the
# key) and starts the next one. A background process that keeps the streams open can therefore hide no death.
IFS= read -r k || exit 0
s=$1
d=$2
if [ "$s" = auto ]; then
  if command -v bash >/dev/null 2>&1; then s=bash; else s=sh; fi
fi
# State files hold the session's variables: for this user alone. Not with -p: what it lies in goes when the sandbox ends.
if [ -n "$d" ] && [ ! -d "$d" ]; then
  (umask 077 && mkdir "$d") 2>/dev/null
fi
trap '' HUP INT
exec 9>&2 2>/dev/null
printf '\036%s H %s\0' "$k" "$s"
printf '\036%s\0' "$k" >&9
while :; do
  case ${s##*/} in
    bash*) (trap - HUP INT; exec $s --noprofile --norc) 2>&9 9>&- ;;
    *) (trap - HUP INT; exec $s) 2>&9 9>&- ;;
  esac
  c=$?
  printf '\036%s\0' "$k" >&9
  printf '\036%s D %s\0' "$k" "$c"
  while IFS= read -r l; do
    if [ "$l" = "$k" ]; then continue 2; fi
  done
  exit 0
done
