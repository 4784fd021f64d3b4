# A server that fell silent still sees that its client goes.
say() { printf '%s\n' "$1"; }
{
  say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
  sleep 1
  say '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"put_book","arguments":{"key":"emma"}}}'
  say '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_books","arguments":{}}}'
  sleep 1
} | "$MCPROVE" relay stdio --plan stall.yml -- python3 ../../servers/shelf.py
