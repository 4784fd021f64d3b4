# Bytes pass as they are, whether anybody watches or not: odd spacing, empty lines, bytes that are no text, a long line,
# a last line without its end.
{
    printf '{ "jsonrpc":"2.0",  "id":1, "method":"tools/call","params":{"name":"a\\u00fc\303\274"} }\r\n\n  \n'
    printf '\377\376 no text \000\n[{"jsonrpc":"2.0","id":2,"method":"ping"}]\n{"jsonrpc":"2.0","id":1e400,"result":{}}\n'
    head -c 17000000 /dev/zero | tr '\0' x
    printf '\n{"jsonrpc":"2.0","method":"torn'
} > in.bin
"$MCPROVE" relay stdio -- cat < in.bin | cmp - in.bin && echo 'nobody watches: the same bytes'
"$MCPROVE" relay stdio --quiet --events events.ndjson -- cat < in.bin | cmp - in.bin && echo 'watched: the same bytes'
"$MCPROVE" relay stdio --quiet --plan lost.yml -- cat < in.bin | cmp - in.bin && echo 'with a plan: the same bytes'
