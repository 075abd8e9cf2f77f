# Holds the terminal of a background process: the supervisor runs it in the process's place.
#
#   $1 directory of the process    $2 shell to run its line with; empty: the file "run" is sourced
#
# Standard input is the FIFO "in", standard output the file "out". The size is in the file "size", as "ROWS COLUMNS".
# It holds with what is there: python3 (terminal.py, beside this file), script of util-linux, or telnetd of busybox,
# which can serve whoever has its standard streams (-i). See also sw_holder in process.sh.
d=$1
# shellcheck disable=SC2089  # a program, not words
line='
d=$1
command -p tty >"$d/tty"
read -r r c <"$d/size"
command -p stty echo rows "${r:-24}" cols "${c:-80}" 2>/dev/null
t="case \${TERM:-dumb} in dumb | unknown | network) TERM=xterm-256color ;; esac; export TERM; unset COLUMNS LINES"
# Where nobody says in which alphabet: the screen is UTF-8 (see pty_script.py).
t="$t; if [ -z \"\${LC_ALL-}\${LC_CTYPE-}\${LANG-}\" ]"
t="$t && { [ -d /usr/lib/locale/C.utf8 ] || [ -d /usr/lib/locale/C.UTF-8 ]; }; then export LC_CTYPE=C.UTF-8; fi"
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
q() {
  printf "'"
  printf %s "$1" | sed "s/'/'\\\\''/g"
  printf "'"
}
# A shell's line, which those need that run a program of no arguments, or by $SHELL, which may not know this line.
SHELLWARD_LINE=$line
# shellcheck disable=SC2090
export SHELLWARD_LINE
if command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux; then
  export SHELL=/bin/sh
  # A shell's background jobs have INT and QUIT ignored, which only a program can undo.
  e='env --default-signal=INT,QUIT'
  $e sh -c : 2>/dev/null || e=
  exec $e script -q -e -f -c "exec sh -c \"\$SHELLWARD_LINE\" shellward $(q "$d") $(q "$2")" /dev/null
fi
if telnetd --help 2>&1 | grep -q 'Inetd mode'; then
  # What it says to begin with ends with a line of ours. The end of its input would end it, and the program by HUP: so
  # this keeps its input open, and types Ctrl-D when nobody else will write there. It ends when nobody has the terminal
  # open; a child that keeps it has a second, in which the rest is read.
  m='shellward: here it begins'
  {
    printf '#!/bin/sh\ntrap : HUP INT QUIT TERM\ncommand -p stty tab0\necho %s\n' "$(q "$m")"
    printf 'sh -c "echo >\\"\$1/began\\"\n$SHELLWARD_LINE" shellward %s %s\n' "$(q "$d")" "$(q "$2")"
    printf 'echo $? >%s/ended\n' "$(q "$d")"
    # Ignored before it starts: the hangup when this script ends, a moment later, would end it otherwise.
    printf 'trap "" HUP\n(sleep 1; if [ /proc/$PPID/fd/0 -ef %s/keys ]; then kill $PPID; fi' "$(q "$d")"
    printf ') </dev/null >/dev/null 2>&1 &\n'
  } >"$d/login" && chmod 700 "$d/login" && mkfifo -m 600 "$d/keys" "$d/began" || exit 125
  exec 3<&0 4<>"$d/keys"
  (
    read -r l <"$d/began" # a key that comes before would be nobody's
    trap 'kill "$k"; exit' TERM
    cat <&3 >&4 &
    k=$!
    wait "$k"
    printf '\004' >&4
  ) &
  k=$!
  exec 3<&-
  telnetd -i -f /dev/null -l "$d/login" <"$d/keys" 2>/dev/null | {
    while IFS= read -r l; do case $l in *"$m"*) break ;; esac; done
    exec cat
  }
  kill "$k" 2>/dev/null
  c=125
  read -r c <"$d/ended"
  rm -f "$d/keys" "$d/began"
  exit "$c"
fi
m='shellward: no terminal can be held here: that needs python3, script of util-linux, or telnetd of busybox'
echo "$m" >"$d/err"
echo "$m"
exit 125
