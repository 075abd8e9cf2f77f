# On top of kill.sh: busybox's shell, after a command that has closed what the shell itself keeps above descriptor 9.
#
# When such a shell comes to put its own streams back it complains that one is gone, comes to put them back, and so on
# for good (1.35; ash.c, unwindredir): it neither ends nor waits for anything, and what it forks does the same.
#
# sw_runaway SHELL HOLDER: prints "runaway" when the shell has no descriptor left of the stream that commands come by,
# so that this command is its last, and nothing runs but the shell and its own forks, one of which is busy.
sw_runaway() {
  # With builtins alone where the shell is as it should be: there may be no room for another process.
  for sw_p in "/proc/$1/fd/"*; do
    if [ "$sw_p" -ef "/proc/$2/fd/0" ]; then return; fi
  done
  case $(command -p readlink "/proc/$1/exe") in *busybox*) ;; *) return ;; esac
  sw_cmdline "$1"
  sw_u=$sw_l sw_tries=0
  # One look may meet all of them between two steps: a fork that has just ended, a shell that waits for it.
  while [ "$sw_tries" -lt 10 ]; do
    sw_tries=$((sw_tries + 1))
    if ! sw_forks "$1"; then return; fi
    if [ -n "$sw_found" ]; then echo runaway && return; fi
  done
} 2>/dev/null
# Fails when something other than the shell and its forks runs; sets sw_found when one of these is busy.
sw_forks() {
  sw_all=" $1 " sw_found= sw_more=1
  if sw_busy "$1"; then sw_found=1; fi
  while [ -n "$sw_more" ]; do
    sw_more=
    for sw_p in /proc/[0-9]*; do
      sw_p=${sw_p#/proc/}
      IFS= read -r sw_l <"/proc/$sw_p/stat" || continue
      set -- ${sw_l##*) }
      case $sw_all in *" $sw_p "*) continue ;; *" $2 "*) ;; *) continue ;; esac
      case $1 in Z | X) continue ;; esac
      sw_cmdline "$sw_p"
      if [ -z "$sw_l" ]; then continue; fi # it has ended meanwhile
      if [ "$sw_l" != "$sw_u" ]; then return 1; fi
      sw_all="$sw_all$sw_p " sw_more=1
      if sw_busy "$sw_p"; then sw_found=1; fi
    done
  done
}
# The words that a process was started with, in sw_l.
sw_cmdline() {
  sw_l=
  IFS= read -r sw_l <"/proc/$1/cmdline" || :
}
# Whether a process computes, or would print if somebody read.
sw_busy() {
  IFS= read -r sw_l <"/proc/$1/stat" || return
  case ${sw_l##*) } in R*) return 0 ;; esac
  sw_l=
  read -r sw_l <"/proc/$1/wchan" || :
  case $sw_l in *pipe_write*) return 0 ;; esac
  return 1
}
