# The first of a channel's two terminals (daytona/boot.py): starts the process, $b, with FIFOs of the directory $d for
# its standard streams, and passes on its input and its standard output. $k: the channel's key, $s: the environment's
# directory.
umask 077
if [ ! -d "$s" ]; then
  printf '\036%sX\0the environment has ended: its directory %s is gone' "$k" "$s"
  exec sleep 60
fi
mkdir "$d" 2>/dev/null
for f in i o e a b; do mkfifo "$d/$f" 2>/dev/null; done
mkfifo "$d/q"
# Descriptors that are open both ways wait for nobody.
exec 3<&0 4<>"$d/a" 5<>"$d/o" 6<>"$d/e" 8<>"$d/q"
dd bs=4096 <&3 >"$d/i" 2>/dev/null 3<&- 4<&- 5<&- 6<&- 8<&- &
i=$!
(
  exec 5<"$d/o" 3<&- 6<&- 8<&-
  while IFS= read -r w <&4; do
    dd bs=4096 count=48 <&5 2>/dev/null
    printf '\036%sA\0' "$k"
  done
) &
o=$!
echo >&4
echo >&4
printf '%s\n' "$$ $i $o" >"$d/p.new" && mv "$d/p.new" "$d/p"
if command -v setsid >/dev/null 2>&1; then h=setsid; else h=; fi
unset TERM LINES COLUMNS HISTFILE
printf '\036%sS\0' "$k" >&5
# In the foreground: what is started with "&" would ignore Ctrl-C for good.
$h sh -c "$b" <"$d/i" >"$d/o" 2>"$d/e" 3<&- 4<&- 5<&- 6<&- 8<&-
printf '\036%sE%s\0' "$k" "$?" >&5
printf '\036%sE\0' "$k" >&6
# Until the second one ends it: with this shell the toolbox would cut the connection, whatever is under way.
read -r w <&8
