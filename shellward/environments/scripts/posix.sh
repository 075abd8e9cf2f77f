# The session in dash, busybox sh or any other POSIX shell. Descriptors 8 and 9: the channel's stdout and stderr.
# Commands have neither, but 7 as a mark (kill.sh); what they open on 7, 8 or 9 does not outlast them.
#
# As bash.sh, with what such a shell has: it reads its input in blocks, so commands come as text in the line
# itself, quoted for eval; "command eval" because a syntax error in a plain eval would end the shell; functions
# can not be printed, so they do not survive the shell.
exec 8>&1 9>&2
__sw_B= __sw_o= __sw_X= __sw_s=0 __sw_n=0 __sw_q=0 __sw_in= __sw_i= __sw_p= __sw_P= __sw_j=0 __sw_K=
__sw_r() {
  __sw_n=$1
  export SHELLWARD_COMMAND="$__sw_m.$1;"
  if [ -n "$__sw_o" ]; then set "-$__sw_o"; fi
  case $__sw_o in *e*) ;; *) return "$__sw_s" ;; esac
}
# Standard input that is short travels with the command, in printf's escapes. Where it cannot be kept whole, this says
# why, and fails.
__sw_d() {
  __sw_in=$1
  if command printf %b "$2" 2>/dev/null >|"$1"; then return 0; fi
  # Once more, by a program, to hear what the system says.
  __sw_q=$(
    export LC_ALL=C
    command printf %b "$2" | { command cat >|"$1" || command echo failed; } 2>&1
  )
  case $__sw_q in
    '')
      __sw_q=0
      return 0
      ;;
    *'No space left'*) __sw_q=528 ;;
    *'quota exceeded'*) __sw_q=622 ;;
    *'Read-only'*) __sw_q=530 ;;
    *) __sw_q=505 ;;
  esac
  return 1
}
# After a subshell whose command is no command of the user's: what "$?" was is what it stays.
__sw_y_() {
  __sw_z=$?
  case $__sw_o in *e*) return 0 ;; esac
  if [ "$__sw_z" = 141 ] || [ "$__sw_z" = 137 ]; then return "$__sw_s"; fi # PIPE, or KILL where that is ignored
  return "$__sw_z"
}
# In the command's own line, so that -x and -v do not show the next one.
__sw_b() {
  __sw_s=$?
  __sw_S=$-
  __sw_B=1
  set +euxv
}
__sw_e() {
  __sw_z=$?
  if [ -z "$__sw_B" ]; then # an error has cut the line short
    __sw_s=$__sw_z
    __sw_S=$-
    set +euxv
  fi
  __sw_B=
  __sw_z=$1
  shift
  unalias '{' command 2>/dev/null
  __sw_g
  __sw_w "$@"
  command printf '\036%s\0' "$__sw_z" >&9 || exit 125
  if [ "$PWD" -ef . ]; then
    command printf '\036%s %s %s%s %s\0' "$__sw_z" "$__sw_s" "${__sw_q:-0}" "$__sw_K" "$PWD" >&8 || exit 125
  else
    {
      command printf '\036%s %s %s%s+ ' "$__sw_z" "$__sw_s" "${__sw_q:-0}" "$__sw_K" && command pwd && command printf '\0'
    } >&8 || exit 125
  fi
  __sw_q=0
}
# Of the options that were on, those that act on the user's commands alone.
__sw_g() {
  __sw_B= __sw_o= __sw_X=
  case $__sw_S in *e*) __sw_o=e ;; esac
  case $__sw_S in *u*) __sw_o=${__sw_o}u ;; esac
  case $__sw_S in *x*) __sw_X='set -x;' ;; esac
  case $__sw_S in *v*) __sw_X="${__sw_X}set -v;" ;; esac
}
__sw_w() {
  if [ -n "$__sw_in" ]; then
    command rm -f -- "$__sw_in" 2>/dev/null
    __sw_in=
  fi
  if [ -n "$__sw_p" ]; then
    command cd -- "$__sw_p" 2>/dev/null
    OLDPWD=$__sw_P
    __sw_p=
  fi
  if [ -z "$__sw_f" ]; then return 0; fi
  __sw_j=$(((__sw_j + 1) % 4)) __sw_K=
  {
    command printf '#%s\n' "$__sw_n" || __sw_K=!
    set || __sw_K=!
    export -p || __sw_K=!
    command printf '__sw_P=$OLDPWD;command cd -- "$PWD";OLDPWD=$__sw_P;umask '
    umask
    command printf ': <<"#jobs"\n'
    jobs -p
    command printf '#jobs\n__sw_i=%s\n' "$__sw_n"
  } 2>/dev/null >|"$__sw_f.$__sw_j" || __sw_K=!
  command alias 2>/dev/null >|"$__sw_f.alias" || __sw_K=!
  if [ -n "$__sw_K" ]; then # emptied again, so that the one before it holds; the client is told
    command : 2>/dev/null >|"$__sw_f.$__sw_j"
    __sw_j=$(((__sw_j + 3) % 4))
  fi
}
__sw_x() {
  __sw_s=$?
  __sw_S=$-
  set +euxv
  trap - EXIT
  __sw_w "$@"
  exit "$__sw_s"
}
# What a state file can not simply hold, for a shell that takes over: options, and aliases ("alias" prints
# "name='value'" in dash, and with the word alias before it in busybox).
__sw_t() {
  __sw_g
  while IFS= read -r __sw_h; do eval "alias ${__sw_h#alias }"; done <"$__sw_f.alias"
  case $__sw_S in *f*) set -f ;; esac
  case $__sw_S in *C*) set -C ;; esac
  case $__sw_S in *a*) set -a ;; esac
} 2>/dev/null
