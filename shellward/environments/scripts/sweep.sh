# On top of kill.sh, for places where the processes of an environment are among others': its end, and its watchdog.
# Everything of an environment has a variable that names it; what has dropped that is found as kill.sh finds it, by its
# parents or by a pipe of the channel. Which processes hold such pipes stands in the file "holders".
#
# sw_end MARK DIRECTORY: ends all that is ours, and removes the directory. It gets another name first: from then on
# nobody can attach to what is about to end.
sw_end() {
  case $2 in
    */shellward-*) mv -- "$2" "$2.ended" ;;
  esac 2>/dev/null
  sw_known= sw_held= sw_born=0 sw_holders= sw_base=$1
  while read -r sw_p; do
    case $sw_p in '' | *[!0-9]*) continue ;; esac
    if sw_owned "$sw_p" "$1" && sw_start "$sw_p"; then sw_held="$sw_held $sw_p.$sw_began"; fi
  done 2>/dev/null <"$2.ended/holders"
  for sw_p in /proc/[0-9]*; do
    IFS= read -r sw_l <"$sw_p/stat" || continue
    sw_l=${sw_l##*) }
    set -- "$1" "$2" $sw_l
    case "$sw_held" in *" $4."*) sw_known="$sw_known ${sw_p#/proc/}" ;; esac
  done 2>/dev/null
  sw_all "$1"
  case $2 in
    */shellward-*)
      # More than once: what was about to end may have made something yet.
      for sw_left in 1 2 3; do
        rm -rf -- "$2.ended" "$2"
        if [ ! -e "$2.ended" ] && [ ! -e "$2" ]; then break; fi
        sw_all "$1"
      done 2>/dev/null
      ;;
  esac
}
# sw_watched NAME: whether a watchdog lives; sw_unwatch ends it.
sw_watched() {
  sw_dogs= sw_holders= sw_base=SHELLWARD_WATCHDOG=$1
  for sw_p in /proc/[0-9]*; do
    if sw_owned "${sw_p#/proc/}" "SHELLWARD_WATCHDOG=$1;"; then sw_dogs="$sw_dogs ${sw_p#/proc/}"; fi
  done
  [ -n "$sw_dogs" ]
}
sw_unwatch() {
  if sw_watched "$1"; then kill -s KILL $sw_dogs; fi 2>/dev/null
}
