// Uses `sdk2_server.py` with the client of the official TypeScript SDK: `warehouse.mjs legacy URL`, or `legacy COMMAND…`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , , first, ...rest] = process.argv;
const client = new Client({ name: "warehouse", version: "1.0.0" });
const transport = first.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest });
await client.connect(transport);
const seen = [];
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
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
