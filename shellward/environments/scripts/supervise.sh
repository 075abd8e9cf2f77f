# Supervises one background process, in plain sh, in a session of its own; it outlives every client.
#
#   $1 directory of the process    $2 shell to run its line with; empty: the file "run" is sourced here
#   $3 standard input: open (a FIFO that clients write to), file (the file "input"), none
#   $4 terminal holder: a script of sh that connects "in" and "out" to a terminal (terminal.sh); empty: none
#   $5 seconds for which it keeps its sandbox alive (lease.sh)
#
# Standard output is the client that waits for the process to be there: one line, "ok PID START".
# The process runs in the foreground of this shell: one in the background would have INT and QUIT ignored (POSIX,
# Shell Command Language, 2.11). Signals that are meant for it are caught here, so that it finds them as they were.
d=$1 e=$d/err
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec 6>&1 >/dev/null 2>&1 </dev/null
# Room for the last word, while there is some: a full disk must not hide how it ended.
echo '                                                                ' >"$d/status.new" || exit
i=/dev/null k=
case $3 in
  open)
    command -p mkfifo -m 600 "$d/in" "$d/ctl" || exit
    # Keeps "in" open for writing until somebody opens "ctl", so that the process sees its end then and not before.
    (
      trap '' HUP INT QUIT TERM USR1 USR2 ALRM
      exec 3<>"$d/in" 5>"$d/in" 3>&- 6>&-
      : <"$d/ctl"
    ) &
    k=$!
    i=$d/in
    ;;
  file) i=$d/input ;;
esac
if [ -n "$4" ]; then e=/dev/null; fi
IFS=' ' read -r l </proc/self/stat
p=${l%% *} l=${l##*) }
set -- "$1" "$2" "$3" "$4" "$5" $l
echo "$p ${25} ${k:-0} $5" >"$d/supervisor"
(
  IFS=' ' read -r l </proc/self/stat
  p=${l%% *} l=${l##*) }
  set -- "$1" "$2" "$3" "$4" $l
  echo "$p ${24}" >"$d/pid"
  echo "ok $p ${24}" >&6
  exec 6>&-
  if [ -n "$4" ]; then
    exec /bin/sh "$4" "$d" "$2"
  elif [ -z "$2" ]; then
    . "$d/run"
  else
    case ${2##*/} in
      bash*)
        export BASH_ENV="$d/state"
        exec $2 --norc --noprofile -c "$(command -p cat "$d/run")"
        ;;
      *) exec $2 -c "$(command -p cat "$d/run")" ;;
    esac
  fi
) <"$i" >>"$d/out" 2>>"$e"
c=$?
exec 6>&-
u=
IFS=' ' read -r u l </proc/uptime
if [ -n "$k" ]; then kill -s KILL "$k"; fi
echo "$c $u" 1<>"$d/status.new"
command -p mv -f "$d/status.new" "$d/status"
for b in "${d%/*}"/.bells/*; do
  if [ -p "$b" ]; then echo "${d##*/}" 1<>"$b"; fi
done
if [ -n "$k" ]; then command -p rm -f "$d/in" "$d/ctl"; fi
