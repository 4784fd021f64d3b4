# A suite against the demo server, with a relay between them: plan, suite, and which lines to show of the run.
rm -f server.log relay.log
waited() {
    while ! grep -qs "$2" "$1"; do ! grep -qs ^error "$1" || exit 1; done
    sed -n "s/$2 \(http[^ ]*\).*/\1/p" "$1"
}
"$MCPROVE" serve demo --http 127.0.0.1:0 2> server.log &
server=$!
upstream=$(waited server.log serving)
"$MCPROVE" relay http --plan "$1" --events events.ndjson --metrics 127.0.0.1:0 --upstream "$upstream" 2> relay.log &
relay=$!
URL=$(waited relay.log relaying) "$MCPROVE" run "$2" --details compliance 2> run.log | grep -E "$3"
metrics=$(sed -n 's/metrics at //p' relay.log)
python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())" "$metrics" | grep 'fault='
kill -INT $relay
wait $relay
echo "relay: exit $?"
grep -E '^(warning|lost|refused)' relay.log
kill $server
