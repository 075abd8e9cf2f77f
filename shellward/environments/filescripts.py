"""What files.py runs in a shell: any POSIX one, with the usual tools. Each needs ``$p``, the path; see there."""

# $p is the path. A link is followed by hand, since mv replaces it; a device or FIFO can only be written to. What the
# user may not write to is not replaced either: the system says why.
PLACE = """
if [ -L "$p" ]; then p=$(readlink -f -- "$p") || exit; fi
if [ -d "$p" ]; then echo "$p: Is a directory" >&2; exit 1; fi
if [ -f "$p" ] && [ ! -w "$p" ]; then (: >>"$p") || exit; fi
"""
# Missing directories above $p, with the errors that open(2) would have for a file among them.
PARENTS = """
q=${p%/*}
if [ -n "$q" ] && [ ! -d "$q" ]; then
  e=$(mkdir -p -- "$q" 2>&1) || {
    case $e in *"File exists"*) e="$q: Not a directory" ;; esac
    echo "$e" >&2
    exit 1
  }
fi
"""
WRITE = (
    PLACE
    + """
if [ -e "$p" ] && [ ! -f "$p" ]; then exec cat >"$p"; fi
case $p in */*) d=${p%/*}/ ;; *) d= ;; esac
t=${d}.shellward.$$.tmp
trap 'rm -f -- "$t"' EXIT
(umask 077 && cat >"$t") || exit
"""
)
# The two halves of the same, where the data goes past the shell: an empty file, whose name is told; then its place.
BEGIN = (
    PLACE
    + """
if [ -e "$p" ] && [ ! -f "$p" ]; then exit 0; fi
case $p in */*) d=${p%/*}/ ;; *) d= ;; esac
t=${d}.shellward.$$.$k.tmp
(umask 077 && : >"$t") && printf %s "$t"
"""
)
END = PLACE + """trap 'rm -f -- "$t"' EXIT\n"""
# SFTP has no word for a full disk; the shell's tools have.
COMPLAIN = (
    'trap \'rm -f -- "$t"\' EXIT;head -c 65536 /dev/zero >>"$t" && echo "$p: the host refuses to write" >&2;exit 1'
)
FINISH = """
if [ -z "$m" ]; then
  m=644
  if [ -e "$p" ]; then m=$(stat -c %a -- "$p") && o=$(stat -c %u:%g -- "$p"); fi
fi
if [ -n "$n" ] && [ "$(stat -c %s -- "$t")" != "$n" ]; then echo "the data did not arrive whole" >&2; exit 1; fi
if [ -n "$o" ] && [ "$(stat -c %u:%g -- "$t")" != "$o" ]; then chown "$o" -- "$t" 2>/dev/null; fi
if [ -n "$x" ]; then touch -d "@$x" -- "$t" || exit; fi
chmod "$m" -- "$t" && mv -f -- "$t" "$p"
"""

WHERE = """
q=$p
while [ ! -e "$q" ]; do q=${q%/*}; q=${q:-/}; done
if [ "$q" = "$p" ]; then [ -d "$p" ] || echo file
elif [ -d "$q" ]; then echo missing
else echo below; fi
:
"""

# What is no regular file may have no end, or no beginning.
READ = """
if [ -f "$p" ] || [ -d "$p" ] || [ ! -e "$p" ]; then cat -- "$p"; else echo "$p: not a regular file" >&2; false; fi
"""

# A piece of it: $a is its offset, or, with a minus, how many bytes before the end; $n how many, or empty. The tail of
# busybox counts to 2 GiB, and reads what it leaves out; dd seeks.
PIECE = """
if [ ! -f "$p" ] || [ ! -r "$p" ]; then
  if [ -e "$p" ] && [ ! -d "$p" ] && [ ! -f "$p" ]; then echo "$p: not a regular file" >&2; exit 1; fi
  cat -- "$p" || exit
fi
if [ "$a" -lt -1073741824 ]; then
  a=$(($(stat -L -c %s -- "$p") + a)) || exit
  if [ "$a" -lt 0 ]; then a=0; fi
fi
piece() {
  if [ "$a" -lt 0 ]; then tail -c "${a#-}" -- "$p"
  elif [ "$a" -lt 1073741824 ]; then tail -c "+$((a + 1))" -- "$p"
  else
    { dd bs=65536 skip=$((a / 65536)) 2>/dev/null || [ $? -gt 128 ] || echo "$p: cannot be read" >&2; } <"$p" |
      tail -c "+$((a % 65536 + 1))"
  fi
}
if [ -n "$n" ]; then piece | head -c "$n"; else piece; fi
"""

LIST = """
cd -- "$p" || exit
set -- * .[!.]* ..?*
for f do if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\\0' "$f"; fi; done
printf '\\0'
for f do if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\\0' "./$f"; fi; done |
  xargs -0 -r stat -c '%f %s %Y %u %g/%n' -- 2>/dev/null
:
"""

# A part of a text file, by lines, and how much there is in all. Read as a stream: a line may be longer than memory.
LINES = """
if [ -d "$p" ]; then echo "$p: Is a directory" >&2; exit 1; fi
if [ -e "$p" ] && [ ! -f "$p" ]; then echo "$p: not a regular file" >&2; exit 1; fi
if [ ! -e "$p" ] || [ ! -r "$p" ]; then cat -- "$p" || exit; fi
l=$(wc -l <"$p") s=$(wc -c <"$p") || exit
if [ "$s" -gt 0 ] && [ "$(tail -c 1 -- "$p" | wc -l)" -eq 0 ]; then l=$((l+1)); fi
echo $s $l
tail -n "+$a" -- "$p" | head -n "$n" | head -c "$m"
"""
