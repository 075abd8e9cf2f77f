# Takes over the newest state that was saved whole under $__sw_from; runs at the top level, after posix.sh.
# A number in $__sw_to is that of the only one that is meant.
# It is read again when it was overwritten meanwhile, and the one before it when its shell died while saving.
for __sw_d in 1 2 3 4; do
  __sw_n=-1 __sw_i=
  for __sw_h in 0 1 2 3; do
    if [ -r "$__sw_from.$__sw_h" ] && IFS= read -r __sw_z <"$__sw_from.$__sw_h"; then
      __sw_z=${__sw_z#\#}
      if [ "$__sw_z" -gt "$__sw_n" ] && [ "$__sw_z" -eq "${__sw_to:-$__sw_z}" ]; then __sw_n=$__sw_z __sw_j=$__sw_h; fi
    fi
  done
  if [ "$__sw_n" -lt 0 ]; then break; fi
  if [ "$__sw_d$__sw_to" = 4 ]; then __sw_j=$(((__sw_j + 3) % 4)); fi
  command . "$__sw_from.$__sw_j" >/dev/null 2>&1
  if [ -n "$__sw_i" ]; then break; fi
done 2>/dev/null
if [ -n "$__sw_to" ] && [ "$__sw_i" != "$__sw_to" ]; then __sw_i=; fi
if [ -n "$__sw_i" ]; then __sw_t; fi
