# Starts a background process from a subshell of the session, with all that the session knows. In bash.
#
# The client has set: __sw_d its directory, __sw_k whether the state is wanted, __sw_S and __sw_B the options as they
# were; __sw_a the supervisor's path, __sw_n kind of standard input, __sw_p the shell's program, __sw_t the terminal
# holder, __sw_e seconds for which it keeps its sandbox, __sw_x whether what to run is long. launch.sh and
# launch.go.bash.sh follow.
__sw_c= # this text, which the state would have in it
builtin trap - EXIT DEBUG ERR RETURN 62
builtin unset SHELLWARD_COMMAND
builtin export SHELLWARD_PROCESS="${__sw_d##*/}"
# A start before this one may have made it, see launch.go.bash.sh; nobody else knows its name.
[[ -d $__sw_d && -O $__sw_d && ! -e $__sw_d/umask ]] || LC_ALL=C builtin command -p mkdir -m 700 -- "$__sw_d" ||
  [[ -d $__sw_d && -O $__sw_d && ! -e $__sw_d/umask ]] || builtin exit
exec 250>&- 251>&-
# The supervisor comes up while the files are written, and waits for the word that they are there: without it, when an
# error ends this, it removes the directory and ends. With -m it is in a process group of its own, which will do for
# it, and INT and QUIT are not ignored in it; its process gets a session when nobody waits for it any more.
builtin set -m 2>/dev/null
coproc __sw_C {
  builtin umask 077
  IFS= builtin read -r __sw_l </proc/self/stat
  builtin exec /bin/sh "$__sw_a" "$__sw_d" "$__sw_p" "$__sw_n" "$__sw_t" "$__sw_e" "$__sw_x" go "$__sw_l"
}
# Of our own, since bash closes those of a coprocess that has ended, whether they were read or not.
exec {__sw_h}<&"${__sw_C[0]}"
# What is written here must be readable, whatever umask the session has.
builtin umask -p >"$__sw_d/umask" || builtin exit
[[ -r $__sw_d/umask ]] || builtin command -p chmod 600 "$__sw_d/umask"
builtin umask 077
if [[ $__sw_k ]]; then
  {
    builtin declare -p && { [[ ! $__sw_F ]] || __sw_k_; } && builtin alias -p
  } >"$__sw_d/saved" || builtin exit
  # The process sorts out what it must not take over: whoever starts it does not wait for that. Our functions are not
  # readonly there, so that they can go.
  {
    builtin printf 'builtin unset BASH_ENV\n. %q/umask\n' "$__sw_d" &&
    builtin declare -f __sw_t __sw_v &&
    builtin printf '__sw_v %q/saved\nbuiltin eval "${__sw_v//declare -fr __sw_/: }" >/dev/null 2>&1\n__sw_S=%q __sw_B=%q\n' "$__sw_d" "$__sw_S" "$__sw_B" &&
    builtin echo '__sw_t; builtin unset -f __sw_t __sw_v; builtin unalias __sw; builtin set --' &&
    builtin echo 'builtin eval "builtin unset -v ${!__sw_*}; ${__sw_o:+builtin set -$__sw_o;} $__sw_X"'
  } >"$__sw_d/state" || builtin exit
fi
