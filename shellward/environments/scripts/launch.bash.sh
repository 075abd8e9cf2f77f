# Starts a background process from a subshell of the session, with all that the session knows. In bash.
#
# The client has set: __sw_d its directory, __sw_k whether the state is wanted, __sw_S and __sw_B the options as they
# were. launch.sh follows.
builtin trap - EXIT DEBUG ERR RETURN 62
builtin unset SHELLWARD_COMMAND
builtin export SHELLWARD_PROCESS="${__sw_d##*/}"
# The start before this one may have made it, see launch.sh; nobody else knows its name.
[[ -O $__sw_d && ! -e $__sw_d/umask ]] || LC_ALL=C builtin command -p mkdir -m 700 -- "$__sw_d" ||
  [[ -O $__sw_d && ! -e $__sw_d/umask ]] || builtin exit
# What is written here must be readable, whatever umask the session has.
builtin umask -p >"$__sw_d/umask"
[[ -r $__sw_d/umask ]] || builtin command -p chmod 600 "$__sw_d/umask"
builtin umask 077
if [[ $__sw_k ]]; then
  {
    builtin declare -p
    [[ $__sw_F ]] && builtin declare -f && builtin declare -Fx
    builtin alias -p
  } >"$__sw_d/saved" 2>/dev/null
  # The process sorts out what it must not take over: whoever starts it does not wait for that.
  {
    builtin printf 'builtin unset BASH_ENV\n. %q/umask\n' "$__sw_d"
    builtin declare -f __sw_t __sw_v
    builtin printf '__sw_v %q/saved\nbuiltin eval "$__sw_v" >/dev/null 2>&1\n__sw_S=%q __sw_B=%q\n' "$__sw_d" "$__sw_S" "$__sw_B"
    builtin echo '__sw_t; builtin unset -f __sw_t __sw_v; builtin unalias __sw; builtin set --'
    builtin echo 'builtin eval "builtin unset -v ${!__sw_*}; ${__sw_o:+builtin set -$__sw_o;} $__sw_X"'
  } >"$__sw_d/state" || builtin exit
fi
exec 250>&- 251>&-
__sw_v=
if builtin command -v setsid; then builtin set -m && __sw_v=1; fi >/dev/null 2>&1
