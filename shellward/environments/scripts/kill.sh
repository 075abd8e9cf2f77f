# Finds and signals what a command left in the process table. Builtins only: it must work when nothing can fork.
#
# sw_scan MARK SHELLS HOLDERS SINCE SKIP SIGNAL
#   MARK    text in the environment of what is ours (SHELLWARD_COMMAND=...)
#   SHELLS  pids of shells whose children are meant, too; they themselves get signal 62, which ends them in order
#           (see bash.sh), or KILL with SIGNAL "KILL+"
#   HOLDERS pids of the shells' parents (holder.sh), whose standard output is the channel's
#   SINCE   clock ticks since boot; what is older is no descendant of the command (proc(5), starttime)
#   SKIP    pids of background jobs that earlier commands left: they and their children stay
#   SIGNAL  name, or 0 to look only
# Leaves in sw_n how many were found, and in sw_alive those of SHELLS that live.
# A process is found by its marked environment, by its parents, or by the channel's pipe among its descriptors,
# whichever of the three it did not shake off.
# Where sw_place is the directory of a background process, what writes to its output belongs to it, too.
# What was found to be somebody else's is not looked at again while one MARK is asked about: sw_other has the numbers and
# start times of those.
sw_turn=0 sw_place= sw_other= sw_asked=
sw_scan() {
  sw_exact=$1 sw_base=${1%.*} sw_shells=$2 sw_holders=$3 sw_since=$4 sw_skip=$5 sw_sig=$6
  sw_all= sw_found= sw_n=0 sw_alive= sw_turn=$((sw_turn + 1))
  if [ "$sw_asked" != "$sw_exact" ]; then sw_other= sw_asked=$sw_exact; fi
  read -r sw_l sw_l sw_l sw_l sw_from </proc/loadavg
  for sw_p in /proc/[0-9]*; do sw_look "${sw_p#/proc/}"; done 2>/dev/null
  # What was forked since the list was made, by a parent that has ended meanwhile: their numbers follow the last
  # one's of before (proc(5), loadavg).
  for sw_pass in 1 2 3; do
    read -r sw_l sw_l sw_l sw_l sw_to </proc/loadavg
    if [ "$sw_to" -gt $((sw_from + 300)) ]; then sw_from=$((sw_to - 300)); fi
    if [ "$sw_to" -le "$sw_from" ]; then break; fi
    while [ "$sw_from" -lt "$sw_to" ]; do
      sw_from=$((sw_from + 1))
      if [ ! -e "/proc/$sw_from" ]; then continue; fi # most are not there; to fail to read costs several times as much
      case " $sw_all " in *" $sw_from "*) ;; *) sw_look "$sw_from" ;; esac
    done
  done 2>/dev/null
  sw_inherit
  for sw_p in $sw_all; do
    eval "sw_hit=\${sw_m$sw_p-}"
    if [ "$sw_hit" = "$sw_turn" ]; then continue; fi
    if sw_owned "$sw_p" "$sw_exact"; then eval "sw_m$sw_p=$sw_turn"; elif [ -n "$sw_named" ]; then eval "sw_o$sw_p=$sw_turn"; fi
  done
  sw_inherit
  for sw_p in $sw_all; do
    eval "sw_hit=\${sw_m$sw_p-}"
    if [ "$sw_hit" = "$sw_turn" ]; then
      sw_found="$sw_found $sw_p" sw_n=$((sw_n + 1))
    else
      eval "sw_hit=\${sw_o$sw_p-} sw_l=\$sw_b$sw_p"
      if [ "$sw_hit" = "$sw_turn" ]; then sw_other="$sw_other $sw_p.$sw_l "; fi
    fi
  done
  if [ "$sw_sig" = 0 ]; then return; fi
  # The shell first: it must not go on with the line when what it waits for is ended.
  if [ -n "$sw_alive" ]; then
    case $sw_sig in KILL+) kill -s KILL $sw_alive ;; STOP) kill -s STOP $sw_alive ;; *) kill -62 $sw_alive ;; esac 2>/dev/null
  fi
  if [ -n "$sw_found" ]; then kill -s "${sw_sig%+}" $sw_found 2>/dev/null; fi
}
# Looks at one process: into sw_all or sw_alive when it may be meant. Then sw_u<pid> is its parent, sw_b<pid> when it began,
# sw_m<pid> the number of the scan in which it was found to be meant, and sw_o<pid> that in which its environment was read
# and was another's.
sw_look() {
  sw_p=$1
  # One read for all fields: to split the line afterwards costs several times as much. See proc(5), /proc/pid/stat.
  read -r sw_l sw_name sw_state sw_parent sw_5 sw_6 sw_7 sw_8 sw_9 sw_10 sw_l sw_l sw_l sw_l sw_l sw_l sw_l sw_l sw_l sw_l sw_l \
    sw_when sw_l <"/proc/$sw_p/stat" || return 0
  # A name with blanks moves what follows, and its 15 characters may look like fields and a closing parenthesis.
  case $sw_state$sw_parent$sw_5$sw_6$sw_7$sw_8$sw_9$sw_10$sw_name in
    *")"?* | *[!\)]) sw_fields || return 0 ;;
  esac
  case $sw_state in Z | X) return ;; esac
  case " $sw_shells " in
    *" $sw_p "*)
      case " $sw_alive " in *" $sw_p "*) return ;; esac
      if sw_owned "$sw_p" "$sw_base"; then sw_alive="$sw_alive $sw_p"; fi
      return
      ;;
  esac
  if [ "$sw_when" -lt "$sw_since" ] || [ "$sw_p" = $$ ] || [ "$sw_p" = "$PPID" ]; then return; fi
  case " $sw_skip " in *" $sw_p "*) return ;; esac
  case $sw_other in *" $sw_p.$sw_when "*) return ;; esac
  case " $sw_holders " in *" $sw_parent "*) return ;; esac # a shell that came after the one that is meant
  eval "sw_u$sw_p=$sw_parent sw_b$sw_p=$sw_when"
  case " $sw_shells " in *" $sw_parent "*) eval "sw_m$sw_p=$sw_turn" ;; esac
  sw_all="$sw_all $sw_p"
}
# The same fields of sw_p, whatever its name is.
sw_fields() {
  IFS= read -r sw_l <"/proc/$sw_p/stat" || return
  set -- ${sw_l##*) }
  sw_state=$1 sw_parent=$2 sw_when=${20}
}
# Children of what is meant are meant; again until nothing is added, since a child may have the lower number.
sw_inherit() {
  sw_more=1
  while [ -n "$sw_more" ]; do
    sw_more=
    for sw_p in $sw_all; do
      eval "sw_hit=\${sw_m$sw_p-} sw_l=\$sw_u$sw_p"
      if [ "$sw_hit" = "$sw_turn" ]; then continue; fi
      eval "sw_hit=\${sw_m$sw_l-}"
      if [ "$sw_hit" = "$sw_turn" ]; then eval "sw_m$sw_p=$sw_turn"; sw_more=1; fi
    done
  done
}
sw_round() {
  sw_scan "$@"
  set -- $sw_alive
  echo "$sw_n $#"
}
# The first round for a command, which began TICKS ago at most; what is not known before it is worked out on the way,
# since the answer may be a long way off: where the command floods, behind all that it printed.
#
# sw_first MARK SHELL HOLDER SIGNAL TICKS NUMBER STATES: the last two as for sw_jobs; STATES may be empty.
# Prints what sw_round does, then the clock and the pids of background jobs that stay.
sw_first() {
  sw_uptime
  sw_kept=
  if [ -n "$7" ]; then sw_jobs "$7" "$6"; fi
  sw_round "$1" "$2" "$3" "$((sw_now - $5))" "$sw_kept" "$4"
  echo "$sw_now$sw_kept"
}
# Whether a process is marked as ours. Into sw_named: whether it has an environment; in mid-exec it has none yet.
sw_owned() {
  sw_named=
  while IFS= read -r sw_l || [ -n "$sw_l" ]; do
    sw_named=1
    case $sw_l in
      *"$2"*) return 0 ;;
      *"$sw_base".[1-9]*) return 1 ;; # an earlier command's
    esac
  done <"/proc/$1/environ"
  for sw_s in ${sw_place:+out err}; do
    for sw_l in 1 2; do
      if [ "/proc/$1/fd/$sw_l" -ef "$sw_place/$sw_s" ]; then return 0; fi
    done
  done
  for sw_s in $sw_holders; do
    for sw_l in 250 7; do
      if [ "/proc/$1/fd/$sw_l" -ef "/proc/$sw_s/fd/1" ] && sw_written "$1" "$sw_l"; then return 0; fi
    done
  done
  return 1
} 2>/dev/null
# Both ends of a pipe are one inode: what reads from it is the client, and what it forked.
sw_written() {
  while read -r sw_l sw_s; do
    case $sw_l$sw_s in flags:*1) return 0 ;; esac
  done <"/proc/$1/fdinfo/$2"
  return 1
}
# Clock ticks since boot, as in /proc/*/stat: USER_HZ is 100 wherever /proc/uptime has two decimals.
sw_uptime() {
  IFS=' .' read -r sw_p sw_l sw_u </proc/uptime && sw_now=$((sw_p * 100 + 1$sw_l - 100))
}
# When a process began, in clock ticks since boot: with its number, that is its name for good.
sw_start() {
  IFS= read -r sw_l <"/proc/$1/stat" || return
  set -- ${sw_l##*) }
  sw_began=${20}
} 2>/dev/null
# Remembers a shell and its holder, for sw_all.
sw_know() {
  sw_known="$sw_known $1"
  if sw_start "$2"; then sw_held="$sw_held $2.$sw_began"; fi
}
# The end of everything that is ours: MARK as above. Tries again, since the dying can still fork.
# A holder's number may be another process's by now, whose pipes are not ours. Holders stand still from the start,
# or they would start the next shell for each one that is ended here and call that a result; they go last, since
# their pipes tell what is ours.
sw_known= sw_held= sw_began=0
sw_start "$PPID"
sw_born=$sw_began
sw_all() {
  sw_try=
  for sw_p in $sw_held; do
    if sw_start "${sw_p%.*}" && [ "$sw_began" = "${sw_p#*.}" ]; then sw_try="$sw_try ${sw_p%.*}"; fi
  done
  set -- "$1" "$sw_try"
  if [ -n "$2" ]; then kill -s STOP $2 2>/dev/null; fi
  for sw_try in 1 2 3 4 5 6 7 8 9 10 11 12; do
    sw_scan "$1" "$sw_known" "$2" "$sw_born" "" KILL+
    if [ "$sw_n$sw_alive" = 0 ]; then break; fi
  done
  if [ -n "$2" ]; then kill -s KILL $2 2>/dev/null; fi
}
# A shell that reads its control stream has no command, unless it is about to report: look twice.
sw_idle() {
  if [ "/proc/$1/fd/0" -ef "/proc/$2/fd/0" ] && IFS= read -r sw_l <"/proc/$1/stat"; then
    sw_l=${sw_l##*) }
    case $sw_l in S*) echo idle ;; esac
  fi
}
# Adds to sw_kept the background jobs that were there before command number $2, from the newest state before it; $1:
# where states are, without the number at the end.
sw_jobs() {
  sw_p= sw_u=-1 sw_in=
  for sw_s in 0 1 2 3; do
    IFS= read -r sw_l <"$1.$sw_s" || continue
    sw_l=${sw_l#\#}
    if [ "$sw_l" -lt "$2" ] && [ "$sw_l" -gt "$sw_u" ]; then sw_u=$sw_l sw_p=$1.$sw_s; fi
  done
  if [ -z "$sw_p" ]; then return; fi
  while IFS= read -r sw_l; do
    case $sw_l in
      ': <<"#jobs"') sw_in=1 ;;
      '#jobs') sw_in= ;;
      *) if [ -n "$sw_in" ]; then sw_kept="$sw_kept $sw_l"; fi ;;
    esac
  done <"$sw_p"
} 2>/dev/null
