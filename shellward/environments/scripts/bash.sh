# The session in bash. Descriptors 250 and 251: the channel's stdout and stderr.
#
# Per command the client sends one line that reads the command (__sw_r), evaluates it at the top level, so that
# "declare" and "return" mean what they mean in a terminal, and reports (__sw_e). The end marker's nonce comes after
# the command in the stream and is read when that is done, so that no output holds it by accident, and no program
# that the command starts can know it. A hostile command can: it runs in this very shell, whose input it may find and
# read (docs/limits.md). Between the two stands a line that does __sw_e's part when an error has cut the first one
# short, and the nonce stands in a line of its own, "exit 125 #nonce": when an error has kept __sw_e from reading
# them, bash does, and ends.
# An assignment to a variable that the user has made readonly ends the line it stands in: $__sw_z, set at the end of
# __sw_r, says in __sw_e whether the command was reached. Else this shell is of no use any more, and ends.
# The user's -e -u -x -v -k are lifted between commands, else they would act on the lines of this file; __sw_r sets
# some again, and $__sw_X, which stands before the command, the others. The shell's own stdout and stderr are
# /dev/null: what bash traces, echoes or complains of between commands is nobody's output.
# Where the limit of open files is lower than that it is raised for this shell, as far as may be.
exec 250>&1 251>&2 >/dev/null 2>&1 || { builtin ulimit -S -n 256 && exec 250>&1 251>&2 >/dev/null 2>&1; } || exit 123
builtin shopt -s expand_aliases
__sw_o= __sw_X= __sw_s=0 __sw_n=0 __sw_q=0 __sw_in= __sw_i= __sw_F= __sw_T= __sw_g= __sw_j=0 __sw_L= __sw_l= __sw_N= __sw_E= __sw_K= __sw_C=
# A call copies a function's body, and each page that is written after a fork costs a copy: what is seldom needed
# stands in functions of its own.
# __sw_r LENGTH NUMBER [KIND WORD]: the command's length and number; kind and first word of one that may be no more
# than a program's, see encoding.py. Such a one changes nothing that would have to be saved, and saving costs a third
# of a short command. A word with a slash (kind "/") is no alias; another must have run as a program before ("-"), or
# be a builtin that changes nothing ("="); none may be a function.
__sw_r() {
  builtin read -r -N "$1" -u 0 __sw_c || builtin exit 125
  __sw_n=$2 __sw_l= __sw_q=0
  [[ $FUNCNEST ]] && builtin local FUNCNEST=0
  if [[ $3$__sw_L$__sw_T$__sw_X$! == [/=-]1 && $__sw_o != *k* ]] && { [[ $3$__sw_F == / ]] || __sw_p "$3" "$4"; }; then
    __sw_l=1
  else
    __sw_b "$3"
  fi
  [[ $__sw_C ]] && __sw_c_
  __sw_z=1
  builtin export SHELLWARD_COMMAND="$__sw_m.$__sw_n;"
  [[ $__sw_o ]] || builtin return "$__sw_s"
  builtin set "-$__sw_o"
  [[ $__sw_o == *e* ]] || builtin return "$__sw_s"
}
# Whether a word names no alias and no function. Ours are asked for, too: when they are not there, the builtin has been
# disabled and tells nothing.
__sw_p() {
  [[ $1 != - ]] || builtin hash -t -- "$2" || builtin return
  builtin alias __sw && builtin declare -F __sw_r && ! builtin alias -- "$2" && ! builtin declare -F -- "$2"
}
# What a command that may change the state needs before it runs.
__sw_b() {
  if [[ $__sw_N ]]; then # it runs in a subshell of its own
    [[ $__sw_L ]] && __sw_l=1
    __sw_N=
    builtin return
  fi
  if [[ $__sw_C ]]; then # the state is another shell's: what might change it runs in a subshell
    [[ $1 ]] && builtin printf -v __sw_c '(\\builtin trap - EXIT 62;\\command eval %q)' "$__sw_c"
    builtin return
  fi
  case $__sw_c in *'('*')'* | *function* | *source* | *eval* | *.[[:blank:]]*) __sw_F=1 ;; esac
  [[ $__sw_c == *exec* && $__sw_f ]] && __sw_u
}
# A shell that holds another's state ($__sw_C is its directory, $__sw_O the one before) stands there while a command runs:
# between two it keeps no file system busy. Where it cannot be entered, what runs is as with a shell that has read the state.
__sw_c_() {
  builtin cd -- "$__sw_C" || builtin printf -v PWD %s "$__sw_C"
  builtin printf -v OLDPWD %s "$__sw_O"
} 2>/dev/null
# Says whether this shell, which has read another's state, may hold it: then $__sw_K is "^" and the number of that, and else
# it is of no use any more. Traps of the user's, -e, -u, -k, -x and -v would act on what runs between commands, and where the
# first attempt at reading has failed, there may be remains of it.
__sw_h_() {
  __sw_z=1
  builtin trap '__sw_x "$@"' EXIT
  builtin trap 'exit 124' 62
  if [[ $__sw_i && $__sw_d == 1 && ! $__sw_o$__sw_X$__sw_T ]]; then
    __sw_K=^$__sw_i __sw_C=$PWD __sw_O=${OLDPWD-}
  fi
}
# After a subshell whose command is no command of the user's: what "$?" was is what it stays.
__sw_y_() {
  builtin local __sw_h=$?
  if [[ $__sw_o == *e* ]]; then builtin return 0; fi
  # Where PIPE is ignored, it was KILL that ended the subshell.
  if [[ $__sw_h == 141 || $__sw_h == 137 ]]; then builtin return "$__sw_s"; fi
  builtin return "$__sw_h"
}
# An exec leaves no later moment to save the state, so it is watched for; a DEBUG trap of the user's stays alone.
__sw_u() {
  builtin trap -p DEBUG >|"$__sw_f.trap" && builtin read -r __sw_h <"$__sw_f.trap" && builtin return
  __sw_g=1
  builtin trap 'if [[ $BASH_COMMAND == exec\ [!0-9\<\>\&]* ]]; then __sw_S=$SHELLOPTS; __sw_k "$@"; fi' DEBUG
} 2>/dev/null
# What follows __sw_r in the line that the client sends: short there, since bash reads its input byte by byte.
__sw_al() {
  builtin alias __sw='\builtin eval "$__sw_X$__sw_c" </dev/null >&250 2>&251;FUNCNEST= \__sw_e "$@"||\builtin exit 125'
}
# What that falls back to where aliases are not expanded; here "declare" and its like act as in a function.
__sw() {
  builtin eval "$__sw_X$__sw_c" </dev/null >&250 2>&251
  __sw_e "$@" || builtin exit 125
}
# Standard input that is short travels with the command, in printf's escapes. Where it cannot be kept whole, what is
# run in the command's place is $__sw_D, which says why.
__sw_d() {
  builtin read -r -N 8 -u 0 __sw_h && builtin read -r -N "$((10#$__sw_h))" -u 0 __sw_h || builtin exit 125
  builtin printf -v __sw_in %s "$1" || builtin exit 125
  builtin unset -v __sw_D
  builtin printf %b "$__sw_h" >|"$1" || __sw_d_
  __sw_h=
}
# Once more, to hear what the system says: in another language than the session's.
__sw_d_() {
  __sw_D=$(
    LC_ALL=C
    { builtin printf %b "$__sw_h" >|"$__sw_in" || builtin echo failed; } 2>&1
  )
  case $__sw_D in
    '') builtin unset -v __sw_D && builtin return ;; # there was room this time
    *'No space left'*) __sw_D=__sw_q=528 ;;
    *'quota exceeded'*) __sw_D=__sw_q=622 ;;
    *'Read-only'*) __sw_D=__sw_q=530 ;;
    *) __sw_D=__sw_q=505 ;;
  esac
  builtin command rm -f -- "$__sw_in" 2>/dev/null
  __sw_in=
}
# With $__sw_E it stands in the line after the command's: that was read already.
__sw_e() {
  __sw_s=$?
  if [[ $__sw_l && $__sw_z && ! $__sw_X$__sw_in${__sw_p+x} ]]; then
    [[ $__sw_o ]] && builtin set +euk
  else
    __sw_a "$@"
  fi
  [[ $__sw_C ]] && builtin cd -- "$__sw_H"
  builtin read -r -N "${__sw_E:-76}" -u 0 __sw_z || builtin exit 125
  __sw_z=${__sw_z: -33:32}
  if [[ $PWD -ef . ]]; then # first, so that the client wakes up once for both
    builtin printf '\036%s\0' "$__sw_z" >&251 &&
      builtin printf '\036%s %s %s%s %s\0' "$__sw_z" "$__sw_s" "${__sw_q:-0}" "${__sw_l:+=}$__sw_K" "$PWD" >&250 || builtin exit 125
  else
    __sw_i_ || builtin exit 125
  fi
  __sw_z=
}
# Where $PWD does not name the directory, "pwd" asks the system.
__sw_i_() {
  builtin printf '\036%s\0' "$__sw_z" >&251 || builtin return
  {
    builtin printf '\036%s %s %s%s+ ' "$__sw_z" "$__sw_s" "${__sw_q:-0}" "${__sw_l:+=}$__sw_K" && builtin pwd && builtin printf '\0'
  } >&250
}
# What a command that may have changed the state needs after it.
__sw_a() {
  __sw_S=$SHELLOPTS __sw_o=${-//[!euk]/} __sw_X=${-//[!xv]/}
  builtin set +euxvkt
  [[ $__sw_z ]] || builtin exit 125
  [[ $__sw_X ]] && __sw_X="builtin set -$__sw_X;"
  builtin alias __sw || __sw_al # it may have been removed with all others
  [[ $__sw_f ]] && __sw_v_
  # An open "$(" in eval leaves bash 5.2 with memory that is not its own, for the next line to fall over: better
  # a new shell, with this one's state.
  if [[ $__sw_s == 2 && $__sw_c == *[\(\`]* && ${#__sw_c} -lt 100000 ]]; then
    "$BASH" --norc -n -c "$__sw_c" || builtin exit 2
  fi
  __sw_w "$@"
}
# Sets __sw_T when the user has traps, on whatever signal: they may change the state during any command.
__sw_v_() {
  builtin trap -p >|"$__sw_f.trap" && builtin mapfile -t __sw_h <"$__sw_f.trap"
  __sw_T=
  for __sw_z in "${__sw_h[@]}"; do
    case $__sw_z in
      "trap -- '__sw_x \"\$@\"' EXIT" | "trap -- 'exit 124' "* | "trap -- '' "*) ;;
      *'if [[ $BASH_COMMAND == exec'*__sw_k*) builtin trap - DEBUG && __sw_g= ;;
      *) __sw_T=1 ;;
    esac
  done
  builtin unset -v __sw_h
  [[ $__sw_T ]] && __sw_y
} 2>/dev/null
# Traps on DEBUG, ERR and RETURN are the user's commands' alone, too; they come back with $__sw_X.
__sw_y() {
  builtin trap -p DEBUG ERR RETURN >|"$__sw_f.trap"
  builtin mapfile __sw_h <"$__sw_f.trap"
  builtin trap - DEBUG ERR RETURN
  for __sw_z in "${__sw_h[@]}"; do __sw_X=$__sw_z$__sw_X; done
  builtin unset -v __sw_h
} 2>/dev/null
# What must be undone and saved at the end of a command, whether the shell lives on or not.
__sw_w() {
  if [[ $__sw_in ]]; then
    builtin command rm -f -- "$__sw_in" 2>/dev/null
    __sw_in=
  fi
  if [[ ${__sw_p+x} ]]; then
    builtin cd -- "$__sw_p" 2>/dev/null
    OLDPWD=$__sw_P
    builtin unset -v __sw_p __sw_P
  fi
  builtin unset -v __sw_c
  [[ $__sw_g ]] && builtin trap - DEBUG && __sw_g=
  [[ $__sw_l ]] || __sw_k "$@"
}
# What cannot be written whole is emptied again, so that the one before it holds; $__sw_K says so to the client. Where there
# is no room, printf fails behind the others, too, and only the others may have been disabled.
__sw_k() {
  [[ $__sw_f ]] || builtin return 0
  __sw_j=$(((__sw_j + 1) & 3)) __sw_L=1 __sw_K=
  {
    builtin printf '#%s\nbuiltin cd -- %q\nbuiltin set --' "$__sw_n" "$PWD" || __sw_K=!
    if (($#)); then builtin printf ' %q' "$@" || __sw_K=!; fi
    builtin echo
    builtin declare -p
    [[ $__sw_F ]] && __sw_k_
    builtin alias -p
    builtin trap -p
    builtin umask -p
    builtin printf '__sw_S=%q __sw_B=%q __sw_F=%q __sw_T=%q __sw_s=%q\n: <<"#jobs"\n' "$__sw_S" "$BASHOPTS" "$__sw_F" "$__sw_T" "$__sw_s" || __sw_K=!
    builtin jobs -p
    builtin printf '#jobs\n__sw_i=%s\n' "$__sw_n"
  } 2>/dev/null >|"$__sw_f.$__sw_j" || __sw_K=!
  [[ ! $__sw_K ]] || __sw_ke
}
__sw_ke() {
  builtin : >|"$__sw_f.$__sw_j"
  __sw_j=$(((__sw_j + 3) & 3)) __sw_L=
} 2>/dev/null
__sw_x() {
  __sw_s=$? __sw_S=$SHELLOPTS __sw_l=
  builtin set +euxvkt
  builtin trap - EXIT DEBUG ERR RETURN
  __sw_w "$@"
  builtin exit "$__sw_s"
}
# Reads a saved state for eval, without what bash keeps itself: to assign to those ends a subshell (bash 5.2). The name
# decides, whatever a value holds. Functions come after the variables and are most of the lines: they are not looked at.
__sw_v() {
  builtin mapfile -t __sw_a <"$1"
  for __sw_z in "${!__sw_a[@]}"; do
    case ${__sw_a[__sw_z]} in
      '#functions') builtin break ;;
      'declare -'*) ;;
      *) builtin continue ;;
    esac
    case ${__sw_a[__sw_z]#declare -* } in
      __sw_* | BASH_ALIASES=* | BASH_ARGC=* | BASH_ARGV=* | BASH_ARGV0=* | BASH_LINENO=* | BASH_SOURCE=* | BASH_VERSINFO=* | \
        BASHOPTS=* | DIRSTACK=* | EUID=* | FUNCNAME=* | GROUPS=* | PPID=* | SHELLOPTS=* | UID=*)
        builtin unset "__sw_a[__sw_z]"
        ;;
    esac
  done
  builtin printf -v __sw_v '%s\n' "${__sw_a[@]}"
  builtin unset -v __sw_a
} 2>/dev/null
# Prints the functions, each with a line for its attributes. Their text may not be readable without the option that it was
# read with.
__sw_k_() {
  builtin echo '#functions'
  [[ :$BASHOPTS: == *:extglob:* ]] && builtin echo 'builtin shopt -s extglob'
  builtin declare -f
}
# Options as they were, for a shell that takes over: $__sw_S holds those of set, $__sw_B those of shopt.
__sw_t() {
  builtin local IFS=:
  __sw_o= __sw_X=
  for __sw_z in $__sw_S; do
    case $__sw_z in
      errexit) __sw_o+=e ;; nounset) __sw_o+=u ;; keyword) __sw_o+=k ;; xtrace) __sw_X+='builtin set -x;' ;; verbose) __sw_X+='builtin set -v;' ;;
      noexec | onecmd | interactive-comments) ;;
      *) builtin set -o "$__sw_z" ;;
    esac
  done
  for __sw_z in braceexpand hashall; do [[ :$__sw_S: == *:$__sw_z:* ]] || builtin set +o "$__sw_z"; done
  [[ $__sw_B == "$BASHOPTS" ]] && builtin return # as in most sessions
  for __sw_z in ${BASHOPTS}; do [[ :$__sw_B: == *:$__sw_z:* ]] || builtin shopt -u "$__sw_z"; done
  for __sw_z in $__sw_B; do builtin shopt -s "$__sw_z"; done
} 2>/dev/null
builtin readonly -f __sw_a __sw_b __sw_v_ __sw_r __sw_p __sw_d __sw_d_ __sw_e __sw_i_ __sw_w __sw_x __sw_t __sw_v __sw __sw_al __sw_k __sw_k_ __sw_ke __sw_u __sw_y __sw_y_ __sw_c_ __sw_h_
