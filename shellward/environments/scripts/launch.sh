# The files of a background process, after launch.bash.sh or launch.posix.sh, in any shell.
#
# The client has set: __sw_u the record, __sw_c the command, __sw_q what to run, __sw_i standard input.
#
# Room for the last word ("status"), while there is some: a full disk must not hide how it ended. It has no newline:
# the process has ended when there is a whole line in this file, which one write puts there.
command printf %64s '' >"$__sw_d/status" && command printf '%s\n' "$PWD" >"$__sw_d/cwd" &&
  command printf '%s\n' "$__sw_u" >"$__sw_d/owner" && command printf '%s' "$__sw_c" >"$__sw_d/command" &&
  command printf '%s' "$__sw_q" >"$__sw_d/run" || exit
if [ "$__sw_n" = file ]; then command printf %b "$__sw_i" >"$__sw_d/input" || exit; fi
