# SIGTERM reaches the server, which ends in its own way.
mkfifo input
"$MCPROVE" relay stdio --quiet -- sh -c 'trap "echo ended well; exit 5" TERM; echo ready; while read line; do :; done' < input > output.txt &
relay=$!
exec 3> input
while ! grep -qs ready output.txt; do :; done
kill -TERM $relay
wait $relay
status=$?
cat output.txt
exit $status
