"""Uses `sdk2_server.py` with the client of the official Python SDK: `warehouse.py ERA URL`, or `ERA COMMAND…`."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def use(client):
    seen = []

    def note(name, answer):
        seen.append({name: answer.model_dump(mode="json", by_alias=True, exclude_none=True)})

    async def progress(done, total, message):
        seen.append({"progress": [done, total, message]})

    note("tools", await client.list_tools())
    note("products", await client.call_tool("list_products", {}))
    note("crate", await client.call_tool("get_product", {"sku": "crate"}))
    note("missing", await client.call_tool("get_product", {"sku": "größer"}))
    note("shelves", await client.call_tool("count_shelves", {"shelves": 3}, progress_callback=progress))
    note("rules", await client.read_resource("stock://rules"))
    note("prompt", await client.get_prompt("restock", {"sku": "crate"}))
    try:
        await client.read_resource("stock://nowhere")
    except MCPError as error:
        seen.append({"error": str(error)})
    return seen


async def main():
    era, *words = sys.argv[1:]
    server = words[0] if words[0].startswith("http") else StdioServerParameters(command=words[0], args=words[1:])
    async with Client(server, mode=era) as client:
        for line in await use(client):
            print(json.dumps(line, sort_keys=True))


asyncio.run(main())
