# Nothing listens where the server should be, or it goes away: each request gets a sentence.
"$MCPROVE" relay http --upstream http://127.0.0.1:9/mcp 2> gone.log &
relay=$!
while ! grep -qs relaying gone.log; do :; done
url=$(sed -n 's/relaying \(http[^ ]*\).*/\1/p' gone.log)
python3 -c "
import sys, urllib.request, urllib.error
try:
    urllib.request.urlopen(sys.argv[1], data=b'{}')
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(), end='')
" "$url"
kill -TERM $relay
wait $relay
echo "relay: exit $?"
