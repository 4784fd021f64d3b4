"""A server with the defaults of the Python SDK: over stdio, or over HTTP at a port."""
import sys

from mcp.server.fastmcp import FastMCP

over_http = {"host": "127.0.0.1", "port": int(sys.argv[1])} if len(sys.argv) > 1 else {}
server = FastMCP("notes", **over_http)


@server.tool()
def get_note(name: str) -> str:
    """Returns a note."""
    return f"the note {name}"


server.run("streamable-http" if over_http else "stdio")
