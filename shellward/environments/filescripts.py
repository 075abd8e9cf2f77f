"""What files.py runs in a shell: any POSIX one, with the usual tools. Each needs ``$p``, the path; see there."""

# $p is the path. A link is followed by hand, since mv replaces it; a device or FIFO can only be written to.
PLACE = """
if [ -L "$p" ]; then p=$(readlink -f -- "$p") || exit; fi
if [ -d "$p" ]; then echo "$p: Is a directory" >&2; exit 1; fi
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
while [ -n "${q%/*}" ] && [ ! -e "$q" ]; do q=${q%/*}; done
if [ "$q" = "$p" ]; then [ -d "$p" ] || echo file
elif [ -d "$q" ]; then echo missing
else echo below; fi
:
"""

# What is no regular file may have no end, or no beginning.
READ = """
if [ -f "$p" ] || [ -d "$p" ] || [ ! -e "$p" ]; then cat -- "$p"; else echo "$p: not a regular file" >&2; false; fi
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
