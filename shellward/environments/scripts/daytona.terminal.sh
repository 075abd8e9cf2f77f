# The beginning of a terminal's script (daytona/boot.py). $shellward_k: its key, $shellward_d: the environment's directory,
# $shellward_p: the search path before the variables of a program.
# Tells the end with exit status $1 among the output, and stays until the reader has it all: the toolbox tells the end of
# this shell past the output that still waits. Where nothing can be read any more, the reader ends this.
shellward_end() {
  PATH=$shellward_p
  trap '' INT QUIT TSTP TTIN TTOU
  rm -f -- "$shellward_d/tty.$shellward_k"
  stty raw -echo 2>/dev/null
  printf '\036%sE%s\0' "$shellward_k" "$1"
  while IFS= read -r l; do
    case $l in *"$shellward_k") exit "$1" ;; esac
  done
  sleep 60
  exit "$1"
}
# Not ignored: what is started does not inherit these.
trap : INT QUIT
printf '\036%s\0' "$shellward_k"
if [ ! -d "$shellward_d" ]; then
  printf 'the environment has ended: its directory %s is gone\r\n' "$shellward_d"
  shellward_end 125
fi
tty >"$shellward_d/tty.$shellward_k"
