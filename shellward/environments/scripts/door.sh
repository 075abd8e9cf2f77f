# The doorkeeper of a sandbox that shares a directory of FIFOs ($1) with its client: it starts what it is asked to,
# with FIFOs of that directory for standard streams, so that nothing goes through an engine.
#
# Who asks writes a name (hexadecimal digits) to the FIFO "ask"; NAME.sh says the rest. Nobody in here can write to
# that directory, so only who made it can have put that file there.
# setsid twice: the second is at the head of a group by then, and so leaves a child that is nobody's. A job started
# with "&" would ignore Ctrl-C for good, and this shell would have to bury it.
d=$1
exec 0<>"$d/ask" || exit
# Who waits for this finds nobody at "ask" then, and asks no more.
if ! command -v setsid >/dev/null; then exec 0</dev/null 1<>"$d/up" && echo && exit; fi
echo 1<>"$d/up"
while IFS= read -r n; do
  case $n in
    *[!0-9a-f]* | '') ;;
    *) setsid setsid sh "$d/$n.sh" "$d/$n" </dev/null ;;
  esac
done
