// Uses `sdk2_server.py` with a client of the official TypeScript SDK: `warehouse.mjs 1 legacy URL`, `warehouse.mjs 2 legacy URL`
// or `warehouse.mjs 2 auto URL`, or a COMMAND… instead of the URL. 1 and 2 are the versions of the SDK; `auto` speaks 2026-07-28.
const [, , version, mode, first, ...rest] = process.argv;
const sdk = await {
  1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  }),
  2: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  }),
}[version]();
const client = new sdk.Client({ name: "warehouse", version: "1.0.0" }, { versionNegotiation: { mode } });
const transport = first.startsWith("http")
  ? new sdk.StreamableHTTPClientTransport(new URL(first))
  : new sdk.StdioClientTransport({ command: first, args: rest });
await client.connect(transport);
const seen = [];
const call = (name, args, options) =>
  client.callTool({ name, arguments: args }, ...(version === "1" ? [undefined, options] : [options]));
if (version === "2") seen.push(client.getNegotiatedProtocolVersion());
seen.push(await client.listTools());
seen.push(await call("list_products", {}));
seen.push(await call("get_product", { sku: "crate" }));
seen.push(await call("get_product", { sku: "größer" }));
// The client loses progress that comes in one piece with the answer, so that is not compared.
seen.push(await call("count_shelves", { shelves: 3 }, { onprogress: () => {} }));
seen.push(await client.readResource({ uri: "stock://rules" }));
seen.push(await client.getPrompt({ name: "restock", arguments: { sku: "crate" } }));
seen.push(await client.readResource({ uri: "stock://nowhere" }).catch((error) => ({ error: error.message })));
for (const line of seen) console.log(JSON.stringify(line));
await client.close();
