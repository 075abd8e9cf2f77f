# Guards an instance from outside: when its lease (script $1, file $2, $3 seconds) has run out, ends the instance $5 with
# the program $4, and removes what it has left: the program's log files, and the paths $7 and on. $6 holds the
# directories of its background processes. What a client was starting when it was killed ends up there, so that is
# waited for ($8/starting is locked until then).
# Files that a user of the instance owns can be removed by that user's root alone, hence unshare.
trap '' HUP INT
sh -c "$1" shellward-lease "$2" "$3" "" "" "$6" outside
flock -w 60 "$8/starting" true
timeout 60 "$4" -s instance stop --force "$5"
for d in "${APPTAINER_CONFIGDIR:-$HOME/.apptainer}" "${SINGULARITY_CONFIGDIR:-$HOME/.singularity}"; do
  rm -f "$d"/instances/logs/*/*/"$5".out "$d"/instances/logs/*/*/"$5".err
done
shift 6
rm -rf "$@" || unshare --map-root-user --map-auto rm -rf "$@" || unshare --map-root-user rm -rf "$@"
