# The alias comes after the saved state, which holds a function of the same name.
builtin shopt -s expand_aliases
__sw_al
