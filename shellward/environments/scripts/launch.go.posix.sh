# The end of launch.posix.sh: the files are there, so the supervisor starts; it says when the process has begun.
#
# A process in the background would have INT and QUIT ignored for good (POSIX, Shell Command Language, 2.11), and this
# subshell waits for one in the foreground: so it ends here as soon as the supervisor has spoken, by a signal that no
# shell remarks on.
IFS=' ' read -r __sw_s __sw_l </proc/self/stat
{
  if command -v setsid >/dev/null; then
    exec setsid /bin/sh "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x"
  elif command -v python3 >/dev/null; then
    exec python3 -c 'import os, sys; os.setsid(); os.execv("/bin/sh", sys.argv[1:])' sh \
      "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x"
  elif command -v perl >/dev/null; then
    exec perl -e 'use POSIX; setsid; exec "/bin/sh", @ARGV' "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x"
  else
    exec /bin/sh "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x"
  fi
} | {
  IFS= read -r __sw_l
  command printf '%s\n' "$__sw_l"
  kill -s PIPE "$__sw_s"
  kill -s KILL "$__sw_s" 2>/dev/null
}
