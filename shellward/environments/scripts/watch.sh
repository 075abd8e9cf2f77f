# Prints the id of each background process under $1 as it ends; ends with its own standard input.
b=$1/.bells/$$
command -p mkdir -p "${b%/*}" && command -p rm -f "$b" && command -p mkfifo -m 666 "$b" || exit
# Those of watchers that were killed: nobody would ever read what supervisors write there.
for o in "${b%/*}"/*; do
  if [ ! -d "/proc/${o##*/}" ]; then command -p rm -f "$o"; fi
done
exec 3<>"$b" 4<&0
(
  IFS= read -r x <&4
  echo . >&3
) &
echo ready
while IFS= read -r l <&3; do
  if [ "$l" = . ]; then break; fi
  printf '%s\n' "$l" || break
done
command -p rm -f "$b"
