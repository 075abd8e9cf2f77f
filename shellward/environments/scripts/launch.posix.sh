# As launch.bash.sh, in any other POSIX shell: functions cannot be printed, so the process does not have them, and
# there are no coprocesses, so the supervisor starts when all is there. launch.sh and launch.go.posix.sh follow.
trap - EXIT 62
unset SHELLWARD_COMMAND
export SHELLWARD_PROCESS="${__sw_d##*/}"
LC_ALL=C command -p mkdir -m 700 -- "$__sw_d" || exit
{
  command printf 'umask ' && umask
} >"$__sw_d/umask" || exit
if [ ! -r "$__sw_d/umask" ]; then command -p chmod 600 "$__sw_d/umask"; fi
umask 077
if [ -n "$__sw_k" ]; then
  {
    set && export -p
  } >"$__sw_d/state" || exit
  alias >"$__sw_d/alias" || exit
fi
exec 7>&- 8>&- 9>&-
