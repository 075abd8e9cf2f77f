# Takes over the newest state that was saved whole under $__sw_from; runs at the top level, after bash.sh.
# A number in $__sw_to is that of the only one that is meant.
# It is read again when it was overwritten meanwhile, and the one before it when its shell died while saving.
for __sw_d in 1 2 3 4; do
  __sw_n=-1
  for __sw_h in 0 1 2 3; do
    IFS= builtin read -r __sw_z <"$__sw_from.$__sw_h" && __sw_z=${__sw_z#\#} && ((__sw_z > __sw_n && __sw_z == ${__sw_to:-__sw_z})) && __sw_n=$__sw_z __sw_j=$__sw_h
  done
  ((__sw_n >= 0)) || break
  if ((__sw_d == 4)) && [[ ! $__sw_to ]]; then
    __sw_j=$(((__sw_j + 3) & 3))
    IFS= builtin read -r __sw_z <"$__sw_from.$__sw_j" && __sw_n=${__sw_z#\#}
  fi
  __sw_v "$__sw_from.$__sw_j"
  builtin eval "$__sw_v" >/dev/null 2>&1
  [[ $__sw_i == "$__sw_n" ]] && break
done 2>/dev/null
[[ $__sw_to && $__sw_i != "$__sw_to" ]] && __sw_i=
builtin unset -v __sw_v __sw_z __sw_h
__sw_L=${__sw_i:+1}
[[ $__sw_i ]] && __sw_t
