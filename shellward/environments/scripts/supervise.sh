# Supervises one background process, in plain sh, in a session of its own; it outlives every client.
#
#   $1 directory of the process    $2 shell to run its line with; empty: sh runs the file "run"
#   $3 standard input: open (a FIFO that clients write to), file (the file "input"), none
#   $4 terminal holder: a script of sh that connects "in" and "out" to a terminal (terminal.sh); empty: none
#   $5 seconds for which it keeps its sandbox alive (lease.sh)
#   $6 not empty: the file "run" is long, and best read by a program
#   $7 not empty: this is the head of a process group, and no more, so the process gets a session of its own; and it
#      begins when a line comes on standard input. Where none comes, the directory is of no use, and goes
#   $8 what this process's own /proc/PID/stat says, where somebody has read it
#
# Standard output is the client that waits for the process to be there: one line, "ok PID START".
# The process runs in the foreground of this shell: one in the background would have INT and QUIT ignored (POSIX,
# Shell Command Language, 2.11). Signals that are meant for it are caught here, so that it finds them as they were.
d=$1 e=$d/err own=$7 o=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
exec 6>&1 >/dev/null 2>&1
i=/dev/null k=
case $3 in
  open)
    command -p mkfifo -m 600 "$d/in" "$d/ctl" || exit
    # Keeps "in" open for writing until somebody opens "ctl", so that the process sees its end then and not before.
    (
      trap '' HUP INT QUIT TERM USR1 USR2 ALRM
      exec 3<>"$d/in" 5>"$d/in" 3>&- 6>&-
      : <"$d/ctl"
    ) </dev/null &
    k=$!
    i=$d/in
    ;;
  file) i=$d/input ;;
esac
if [ -n "$4" ]; then e=/dev/null; fi
l=$8
if [ -z "$l" ]; then IFS= read -r l </proc/self/stat; fi
p=${l%% *} l=${l##*) }
set -- "$1" "$2" "$3" "$4" "$5" "$6" $l
# Who does not find this would take the process for lost: where it cannot be written, nothing is started.
if ! echo "$p ${26} ${k:-0} $5" >"$d/supervisor"; then
  if [ -n "$k" ]; then kill -s KILL "$k"; fi
  exit
fi
if [ -n "$own" ] && ! read -r l; then
  if [ -n "$k" ]; then kill -s KILL "$k"; fi
  command -p rm -rf -- "$d"
  exit
fi
exec </dev/null
# Becomes a program, in a session of its own by whatever there is for that.
become() {
  if [ -z "$own" ]; then exec "$@"; fi
  if command -v setsid >/dev/null; then exec setsid "$@"; fi
  if command -v python3 >/dev/null; then
    exec python3 -I -S -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' "$@"
  fi
  if command -v perl >/dev/null; then exec perl -e 'use POSIX; setsid; exec @ARGV' "$@"; fi
  exec "$@"
}
(
  IFS= read -r l </proc/self/stat
  p=${l%% *} l=${l##*) }
  set -- "$1" "$2" "$3" "$4" "$5" "$6" $l
  set -C # whoever makes this file first decides whether it begins: see sw_settle
  echo "$p ${26}" >"$d/pid" || exit
  set +C
  # From here on it is there for whoever looks: it runs, even where whoever started it could not fork to hear of it.
  trap '' PIPE
  # Who has started it may be gone; it begins all the same.
  trap '' PIPE
  echo "ok $p ${26}" >&6
  trap - PIPE
  trap - PIPE
  exec 6>&-
  if [ -n "$4" ]; then become /bin/sh "$4" "$d" "$2"; fi
  if [ -z "$2" ]; then become /bin/sh "$d/run"; fi
  c=
  if [ -n "$6" ]; then
    c=$(command -p cat "$d/run")
  else
    while IFS= read -r l; do c="$c$l
"; done <"$d/run"
    c=$c$l
  fi
  case ${2##*/} in
    bash*)
      export BASH_ENV="$d/state"
      become $2 --norc --noprofile -c "$c"
      ;;
    *) become $2 -c "$c" ;;
  esac
) <"$i" >>"$d/out" 2>>"$e"
c=$?
exec 6>&-
u=
IFS=' ' read -r u l </proc/uptime
if [ -n "$k" ]; then kill -s KILL "$k"; fi
# Where it cannot be written now, there may be room in a while; who finds no status, and nobody here, takes it for lost.
n=
until echo "$c $u" 1<>"$d/status" || [ ! -d "$d" ] || [ "$n" = "$o" ]; do
  n=x$n
  command -p sleep 0.5 || command -p sleep 1
done
for b in "${d%/*}"/.bells/*; do
  if [ -p "$b" ]; then echo "${d##*/}" 1<>"$b"; fi
done
if [ -n "$k" ]; then command -p rm -f "$d/in" "$d/ctl"; fi
