# Starts a background process from a subshell of the session, with all that the session knows. In bash.
#
# The client has set: __sw_d its directory, __sw_k whether the state is wanted, __sw_S and __sw_B the options as they
# were. launch.sh follows.
builtin trap - EXIT DEBUG ERR RETURN 62
builtin unset SHELLWARD_COMMAND
builtin export SHELLWARD_PROCESS="${__sw_d##*/}"
LC_ALL=C builtin command -p mkdir -m 700 -- "$__sw_d" || builtin exit
# What is written here must be readable, whatever umask the session has.
builtin umask -p >"$__sw_d/umask"
[[ -r $__sw_d/umask ]] || builtin command -p chmod 600 "$__sw_d/umask"
builtin umask 077
if [[ $__sw_k ]]; then
  {
    builtin declare -p
    [[ $__sw_F ]] && builtin declare -f && builtin declare -Fx
    builtin alias -p
  } >"$__sw_d/state" 2>/dev/null
  __sw_v "$__sw_d/state"
  {
    builtin printf 'builtin unset BASH_ENV\n. %q/umask\n%s\n__sw_S=%q __sw_B=%q\n' "$__sw_d" "$__sw_v" "$__sw_S" "$__sw_B"
    builtin declare -f __sw_t
    builtin echo '__sw_t; builtin unset -f __sw_t; builtin set --'
    builtin echo 'builtin eval "builtin unset -v ${!__sw_*}; ${__sw_o:+builtin set -$__sw_o;} $__sw_X"'
  } >"$__sw_d/state" || builtin exit
fi
exec 250>&- 251>&-
