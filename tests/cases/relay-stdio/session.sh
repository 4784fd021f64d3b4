# A session with the demo server behind a relay: what the client gets, and how it ends.
plan=$1
shift
"$MCPROVE" relay stdio --plan "$plan" "$@" -- sh -c "\"\$MCPROVE\" serve demo; exit \$?" < session.txt > got.txt
status=$?
grep -c . got.txt
grep -o '"id":[3-6],.*' got.txt | cut -c1-150
exit $status
