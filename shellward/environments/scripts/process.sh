# Looks after background processes, from the control shell. Builtins only, but where it says so. $1: the directory.
#
# A shell that reads byte by byte may have begun before the last word was written over the blanks: then its line does.
#
# Tells of one process, in eight lines: id, "PID START", "STATUS UPTIME", why it was ended, how it stands (running,
# ended, lost, begun), its directory, the record, uptime now.
sw_tell() {
  if [ ! -d "$1" ] || [ -e "$1/void" ]; then
    return
  fi
  sw_a= sw_b= sw_c= sw_d= sw_e= sw_f=
  IFS= read -r sw_a <"$1/pid"
  IFS= read -r sw_c <"$1/killed"
  IFS= read -r sw_e <"$1/cwd"
  IFS= read -r sw_f <"$1/owner"
  if IFS= read -r sw_b <"$1/status" && [ "${sw_b# }" = "$sw_b" ]; then
    sw_d=ended
  elif read -r sw_p sw_l sw_u sw_s <"$1/supervisor" && sw_is "$sw_p" "$sw_l"; then
    sw_d=running
  elif IFS= read -r sw_b <"$1/status" && [ "${sw_b# }" = "$sw_b" ]; then
    sw_d=ended # meanwhile
  elif [ -n "$sw_a" ] && sw_is ${sw_a}; then
    sw_d=running
  elif [ ! -e "$1/supervisor" ]; then
    sw_d=begun # or its start was cut off
  else
    sw_d=lost
    if [ -p "$1/ctl" ]; then : <>"$1/ctl"; fi # who keeps its input open waits for this: its supervisor ends him no more
  fi
  IFS=' ' read -r sw_u sw_l </proc/uptime
  printf '%s\n' "${1##*/}" "$sw_a" "$sw_b" "$sw_c" "$sw_d" "$sw_e" "$sw_f" "$sw_u"
} 2>/dev/null
# Whether it has ended: there is a whole line in "status".
sw_over() {
  IFS= read -r sw_h <"$1/status"
} 2>/dev/null
# Whether process $1 is the one that began at tick $2.
sw_is() {
  sw_start "$1" && [ "$sw_began" = "$2" ]
}
# Gives the directories of all there may be, one a line; tells of those of them that are named, $1 being the directory of all.
sw_names() {
  set -- "$1"/*/
  printf '%s\n' "$@"
}
sw_tells() {
  sw_r=$1
  shift
  for sw_h; do
    if [ -e "$sw_r/$sw_h/owner" ]; then sw_tell "$sw_r/$sw_h"; fi
  done
}
# Names those of them that do not run, as far as one look shows: see sw_tell for what has become of them.
sw_idle_ones() {
  sw_r=$1
  shift
  for sw_h; do
    if read -r sw_p sw_l sw_u sw_s <"$sw_r/$sw_h/supervisor" && sw_is "$sw_p" "$sw_l"; then continue; fi
    if read -r sw_p sw_l <"$sw_r/$sw_h/pid" && sw_is "$sw_p" "$sw_l"; then continue; fi
    printf '%s\n' "$sw_h"
  done
} 2>/dev/null
# What became of a process whose start nobody has answered: "pid PID" when it has begun, "wait" while its supervisor is
# still about to start it, and "none" when it has not begun and will not: a file stands in the place of its directory
# then, so that who is still at work there fails. Runs mkdir, mv and rm; where no process can be started for that, its file
# "pid" is made here before the supervisor can, which then starts nothing. A fork that fails ends dash, but not in an eval.
sw_settle() {
  if read -r sw_p sw_l <"$1/pid"; then
    echo "pid $sw_p"
  elif read -r sw_p sw_l sw_u sw_s <"$1/supervisor" && sw_is "$sw_p" "$sw_l"; then
    echo wait
  else
    if [ -d "$1" ] && ! command eval 'command -p mv -- "$1" "$1.gone"'; then
      set -C
      if command : >"$1/pid"; then
        command : >"$1/void"
        echo none
      elif read -r sw_p sw_l <"$1/pid"; then
        echo "pid $sw_p"
      fi
      set +C
      return
    fi
    # Where no file can be made, no directory can.
    if [ ! -d "${1%/*}" ]; then command -p mkdir -p -- "${1%/*}"; fi
    command : >"$1"
    if read -r sw_p sw_l <"$1.gone/pid"; then # it began in between, without its files
      kill -s KILL "$sw_p"
      echo unknown
    else
      if [ -e "$1.gone" ]; then command eval 'command -p rm -rf -- "$1.gone"'; fi
      echo none
    fi
  fi
} 2>/dev/null
sw_list() {
  for sw_h in "$1"/*/; do
    sw_h=${sw_h%/}
    if [ -e "$sw_h/owner" ]; then sw_tell "$sw_h"; fi
  done
}
# What can hold a terminal for a process (terminal.sh), by name; nothing where nothing can. It runs programs. An applet
# of busybox is not the script that is meant.
sw_holder() {
  if command -v python3 >/dev/null; then
    echo python3
    return
  fi
  sw_l=$(command -v script) sw_s=$(command -v busybox)
  case $sw_l in
    /*)
      if ! [ "$sw_l" -ef "$sw_s" ]; then
        echo script
        return
      fi
      ;;
  esac
  if telnetd --help 2>&1 | grep -q 'Inetd mode'; then echo telnetd; fi
} 2>/dev/null
# How many bytes came on both streams. Runs stat.
sw_sizes() {
  command -p stat -c '%s' "$1/out" "$1/err" 2>/dev/null
}
# Sends signal $2 to the process alone, when it is that still; prints "sent".
sw_send() {
  if ! sw_over "$1" && read -r sw_p sw_l <"$1/pid" && sw_is "$sw_p" "$sw_l" && kill -s "$2" "$sw_p"; then echo sent; fi
} 2>/dev/null
# Sends signal $2 to the whole tree (see sw_scan), but not to the supervisor; prints how many were alive.
sw_tree() {
  sw_p= sw_l= sw_u=
  read -r sw_p sw_l sw_u sw_s <"$1/supervisor"
  if ! sw_is "$sw_p" "$sw_l"; then sw_p=0; fi
  sw_place=$1
  sw_scan "SHELLWARD_PROCESS=${1##*/}" "" "" "${sw_l:-0}" "$sw_p ${sw_u:-0}" "$2"
  sw_place=
  echo "$sw_n"
} 2>/dev/null
# When its supervisor began, in clock ticks since boot, once its line is at its terminal; "wait" before that.
sw_supervised() {
  read -r sw_p sw_l sw_u sw_s <"$1/supervisor"
  if [ -s "$1/tty" ] || sw_over "$1"; then echo "${sw_l:-0}"; else echo wait; fi
} 2>/dev/null
# Notes why it is ended, before it is.
sw_doom() {
  if ! sw_over "$1"; then echo "$2" >"$1/killed"; fi
}
# The size of its terminal, as "ROWS COLUMNS", and a new one: first where the holder reads it, if it is at its start
# still. Runs stty; prints "ok" when the process was there.
sw_size() {
  IFS= read -r sw_l <"$1/size"
  echo "${sw_l:-24 80}"
} 2>/dev/null
sw_resize() {
  if ! sw_over "$1" && read -r sw_p sw_l <"$1/pid" && sw_is "$sw_p" "$sw_l"; then
    echo "$2 $3" >|"$1/size"
    if IFS= read -r sw_l <"$1/tty"; then command -p stty rows "$2" cols "$3" <"$sw_l"; fi
    echo ok
  fi
} 2>/dev/null
# Lets the process see the end of its input.
sw_shut() {
  if [ -p "$1/ctl" ]; then : <>"$1/ctl"; fi
}
# Uptime, clock ticks, pages of memory and number of all processes of the tree.
sw_usage() {
  sw_tree "$1" 0 >/dev/null
  sw_a=0 sw_b=0 sw_c=0
  for sw_p in $sw_found; do
    IFS= read -r sw_l <"/proc/$sw_p/stat" || continue
    set -- ${sw_l##*) }
    sw_a=$((sw_a + ${12} + ${13})) sw_b=$((sw_b + ${22})) sw_c=$((sw_c + 1))
  done
  IFS=' ' read -r sw_u sw_l </proc/uptime
  echo "$sw_u $sw_a $sw_b $sw_c"
} 2>/dev/null
