# Takes over the session's state in the shell of a background process, after launch.posix.sh has saved it.
# The client has set __sw_d, its directory.
. "$__sw_d/umask"
command . "$__sw_d/state" >/dev/null 2>&1
while IFS= read -r __sw_h; do eval "alias ${__sw_h#alias }"; done <"$__sw_d/alias" 2>/dev/null
for __sw_h in a C e f u v x; do case $__sw_S in *"$__sw_h"*) set -"$__sw_h" ;; esac; done 2>/dev/null
