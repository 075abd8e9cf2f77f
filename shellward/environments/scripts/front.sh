# Tells which programs are in the foreground of a terminal. It runs tr and ls, and ps where there is no /proc.
#
# sw_front PID MARK: PID is a process at the terminal, or 0; then the oldest one whose environment has MARK, and which
# has a terminal, is taken. Prints its number, and a line for each process of the terminal's foreground group: its
# file, which is empty where that is not known, and its words, with tabs between them. Prints nothing where that
# cannot be known.
sw_front() {
  sw_a=$1
  if [ ! -d /proc/self ]; then
    sw_c=$(command -p ps -o tpgid= -p "$1" | command -p tr -d ' ')
    case $sw_c in '' | 0 | -*) return ;; esac
    echo "$1"
    command -p ps -A -o pgid= -o command= | while read -r sw_b sw_l; do
      if [ "$sw_b" = "$sw_c" ]; then printf ' %s\n' "$sw_l" | command -p tr ' ' '\t'; fi
    done
    return
  fi
  if ! { sw_marked "$sw_a" "$2" && sw_seat "$sw_a"; }; then
    sw_a=0
    for sw_p in /proc/[0-9]*; do
      sw_p=${sw_p#/proc/}
      if sw_marked "$sw_p" "$2" && sw_seat "$sw_p" && { [ "$sw_a" = 0 ] || [ "$sw_p" -lt "$sw_a" ]; }; then sw_a=$sw_p; fi
    done
    sw_seat "$sw_a" || return
  fi
  sw_d=$sw_b
  echo "$sw_a"
  for sw_p in /proc/[0-9]*; do
    if IFS= read -r sw_l <"$sw_p/stat"; then
      set -- ${sw_l##*) }
      if [ "$3" = "$sw_d" ]; then
        sw_l=$(command -p ls -l "$sw_p/exe")
        case $sw_l in *' -> '*) printf '%s\t' "${sw_l#* -> }" ;; *) printf '\t' ;; esac
        command -p tr '\0\n\t' '\t  ' <"$sw_p/cmdline"
        echo
      fi
    fi
  done
} 2>/dev/null
# Leaves in sw_b the foreground group of the terminal of process $1.
sw_seat() {
  IFS= read -r sw_l <"/proc/$1/stat" || return 1
  set -- ${sw_l##*) }
  sw_b=$6
  case $6 in '' | 0 | -*) return 1 ;; esac
} 2>/dev/null
sw_marked() {
  while IFS= read -r sw_l || [ -n "$sw_l" ]; do
    case $sw_l in *"$2"*) return 0 ;; esac
  done <"/proc/$1/environ"
  return 1
} 2>/dev/null
