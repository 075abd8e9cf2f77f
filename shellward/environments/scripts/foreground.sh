# The foreground job of a terminal, and its echo: tcgetpgrp(3) and termios(3), from a process that has another terminal,
# or none. Uses kill.sh.
#
# sw_at MARK SINCE: looks for what has MARK in its environment and is at a terminal, since so many clock ticks after boot.
# Where several terminals are among it, since a program may have opened another one, the first one's is meant.
# Leaves in sw_tty that terminal's number; empty: nothing is there, 0: /proc shows none. In sw_job its foreground process
# group, in sw_those what is at a terminal, as PID.NUMBER.
sw_at() {
  sw_exact=$1 sw_base=${1%.*} sw_holders= sw_place= sw_tty= sw_job= sw_those= sw_first=
  for sw_p in /proc/[0-9]*; do sw_at_one "${sw_p#/proc/}" "$2"; done
} 2>/dev/null
sw_at_one() {
  sw_p=$1 sw_u=$2
  IFS= read -r sw_l <"/proc/$1/stat" || return 0
  set -- ${sw_l##*) }
  case $1 in Z | X | '') return ;; esac
  if [ "${20}" -lt "$sw_u" ] || ! sw_owned "$sw_p" "$sw_exact"; then return; fi
  if [ "$5" = 0 ]; then
    sw_tty=${sw_tty:-0}
    return
  fi
  sw_those="$sw_those $sw_p.$5"
  if [ -z "$sw_first" ] || [ "${20}" -lt "$sw_first" ]; then sw_first=${20} sw_tty=$5 sw_job=$6; fi
}
# Sends signal $3 to the foreground job; prints how it went: sent, refused, none (nothing is in the foreground), hidden.
# The one form that bash, dash and busybox all take for a process group.
sw_signal_job() {
  sw_at "$1" "$2"
  case $sw_tty/$sw_job in
    /*) echo none ;;
    0/*) echo hidden ;;
    */0 | */-*) echo none ;;
    *) if kill "-$3" "-$sw_job"; then echo sent; else echo refused; fi ;;
  esac
} 2>/dev/null
# Prints whether its terminal echoes, on or off, after it was switched to $3, when that is given; or none, or hidden.
# Runs stty, with the terminal among the descriptors of whoever is at it: it may have no name here.
sw_echoes() {
  sw_at "$1" "$2"
  if [ -z "$sw_tty" ]; then
    echo none
    return
  fi
  for sw_p in $sw_those; do
    if [ "${sw_p#*.}" != "$sw_tty" ]; then continue; fi
    for sw_l in 0 1 2 10 255; do
      sw_l=/proc/${sw_p%.*}/fd/$sw_l
      if ! [ -c "$sw_l" ]; then continue; fi
      case $3 in
        on) command -p stty echo <"$sw_l" ;;
        off) command -p stty -echo <"$sw_l" ;;
      esac
      case " $(command -p stty -a <"$sw_l") " in
        *[!a-z]-echo[!a-z]*) echo off && return ;;
        *[!a-z-]echo[!a-z]*) echo on && return ;;
      esac
    done
  done
  echo hidden
} 2>/dev/null
