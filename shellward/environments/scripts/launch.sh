# The second half of launch.*.sh, the same for all shells: writes the files and starts the supervisor.
#
# The client has set: __sw_r the root, __sw_y its mode, __sw_a the supervisor's path, __sw_n kind of standard input,
# __sw_p the shell's program, __sw_u the record, __sw_c the command, __sw_q what to run, __sw_t the terminal holder,
# __sw_e seconds for which it keeps its sandbox, __sw_w a directory to make for the next one, __sw_g whether to remove
# old ones, __sw_x whether what to run is long. In bash __sw_v is set, too, when the pipeline below makes a process group of its own (set -m): that will do
# for the supervisor, and the process gets its session when nobody waits for it any more.
command printf '%s\n' "$PWD" >"$__sw_d/cwd" && command printf '%s\n' "$__sw_u" >"$__sw_d/owner" &&
  command printf '%s' "$__sw_c" >"$__sw_d/command" && command printf '%s' "$__sw_q" >"$__sw_d/run" || exit
if [ "$__sw_n" = file ]; then command printf %b "$__sw_i" >"$__sw_d/input" || exit; fi
# A process in the background would have INT and QUIT ignored for good (POSIX, Shell Command Language, 2.11), and this
# subshell waits for one in the foreground: so it ends here as soon as the supervisor has spoken, by a signal that no
# shell remarks on.
IFS=' ' read -r __sw_s __sw_l </proc/self/stat
{
  if [ -n "$__sw_v" ]; then
    exec /bin/sh "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x" setsid
  elif command -v setsid >/dev/null; then
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
  # Nobody waits for this any more. What killed clients have left of the kind goes, too.
  exec >/dev/null 2>&1
  if [ -n "$__sw_w" ]; then
    command -p mkdir -m 700 -- "$__sw_w"
    if [ -n "$__sw_g" ]; then command -p find "${__sw_w%/*}" -maxdepth 1 -type d -name 'p*' -empty -mmin +60 -exec rmdir {} +; fi
  fi
}
