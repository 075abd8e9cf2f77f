# Makes the directory of an environment on a host. $i: its name, $k: what is kept of its settings, $c: the directory to
# begin in. Not in $XDG_RUNTIME_DIR or /dev/shm first: systemd empties both when the user's last connection ends, and
# an environment outlives that.
umask 077
d=
for b in "${TMPDIR:-/tmp}" /tmp /var/tmp "$XDG_RUNTIME_DIR"; do
  case $b in /*) ;; *) continue ;; esac
  if mkdir -m 700 "$b/shellward-$i" 2>/dev/null; then
    d=$b/shellward-$i
    if printf '%s' "$k" 2>/dev/null >"$d/config" && echo 0 2>/dev/null >"$d/lease" && [ -s "$d/config" ]; then break; fi
    rm -rf -- "$d"
    d=
  fi
done
if [ -z "$d" ]; then
  echo 'no directory can be made in /tmp or /var/tmp: full, or not ours to write to' >&2
  exit 3
fi
case $c in \~) c=$HOME ;; \~/*) c=$HOME/${c#??} ;; esac
cd -- "${c:-$HOME}" 2>/dev/null || { if [ -n "$c" ]; then echo "cwd: $c is not a directory there that can be entered" >&2; rm -rf -- "$d"; exit 4; fi; cd /; }
printf '%s\n' "$d"
pwd
