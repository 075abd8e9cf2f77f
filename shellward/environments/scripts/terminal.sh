# Holds the terminal of a background process: the supervisor runs it in the process's place.
#
#   $1 directory of the process    $2 shell to run its line with; empty: the file "run" is sourced
#
# Standard input is the FIFO "in", standard output the file "out". The size is in the file "size", as "ROWS COLUMNS".
# It holds with what is there: python3 (terminal.py, beside this file), or script of util-linux.
d=$1
# shellcheck disable=SC2089  # a program, not words
line='
d=$1
command -p tty >"$d/tty"
read -r r c <"$d/size"
command -p stty echo rows "${r:-24}" cols "${c:-80}" 2>/dev/null
t="case \${TERM:-dumb} in dumb | unknown | network) TERM=xterm-256color ;; esac; export TERM; unset COLUMNS LINES"
eval "$t"
# What the session knew of another terminal is none of this one.
if [ -f "$d/state" ]; then echo "$t" >>"$d/state"; fi
if [ -z "$2" ]; then
  . "$d/run"
else
  case ${2##*/} in
    bash*)
      export BASH_ENV="$d/state"
      exec $2 --norc --noprofile -c "$(command -p cat "$d/run")"
      ;;
    *) exec $2 -c "$(command -p cat "$d/run")" ;;
  esac
fi
'
p=$(command -v python3) && "$p" -I -S -c '' 2>/dev/null && exec "$p" -I -S "${0%.sh}.py" "$d" "$line" "$2"
if command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux; then
  # It runs its command with $SHELL, which may be none that knows this line.
  SHELLWARD_LINE=$line SHELL=/bin/sh
  # shellcheck disable=SC2090
  export SHELLWARD_LINE SHELL
  q() {
    printf "'"
    printf %s "$1" | sed "s/'/'\\\\''/g"
    printf "'"
  }
  # A shell's background jobs have INT and QUIT ignored, which only a program can undo.
  e='env --default-signal=INT,QUIT'
  $e sh -c : 2>/dev/null || e=
  exec $e script -q -e -f -c "exec sh -c \"\$SHELLWARD_LINE\" shellward $(q "$d") $(q "$2")" /dev/null
fi
echo 'shellward: no terminal can be held here: that needs python3, or script of util-linux' >"$d/err"
echo 'shellward: no terminal can be held here: that needs python3, or script of util-linux'
exit 125
