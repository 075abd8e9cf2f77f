# Prints the file $1 from byte $2 (the first is 0) on, and what is added to it; ends with its own standard input.
# tail of coreutils waits for the kernel's word where the file system gives one, and looks every 30 ms elsewhere
# (overlayfs). Others, as busybox, look each second at best: a loop does so every 30 ms, as long as somebody follows.
exec 4<&0 3<"$1" || exit
if command -p tail --version >/dev/null 2>&1; then
  command -p tail -c "+$(($2 + 1))" -f -s 0.03 "$1" 3>&- 4>&- &
else
  (
    exec 4>&-
    command -p dd bs=1 skip="$2" count=0 <&3 2>/dev/null
    while command -p cat <&3; do command -p sleep 0.03; done
  ) &
fi
t=$!
IFS= read -r x <&4
kill -s KILL "$t"
