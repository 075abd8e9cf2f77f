# On top of kill.sh: prints what the processes of SHELLWARD_SANDBOX=$i; use now. Clock ticks of processor time, pages of
# memory that are theirs alone, their number, and the size of a page in bytes.
sw_scan "SHELLWARD_SANDBOX=$i;" "" "" 0 "" 0
t=0 m=0 n=0
for p in $sw_found; do
  if ! { IFS= read -r l <"/proc/$p/stat" && read -r a r s a <"/proc/$p/statm"; } 2>/dev/null; then continue; fi
  set -- ${l##*) }
  t=$((t + ${12} + ${13} + ${14} + ${15})) m=$((m + r - s)) n=$((n + 1))
done
echo "$t $m $n $(getconf PAGESIZE 2>/dev/null || echo 4096)"
