// A server over HTTP without sessions: shared.mjs PORT MODE. In the mode `shared`, all requests use one transport; in
// `own`, each has its own.
import { createServer } from "node:http";

const [port, mode] = process.argv.slice(2);
const sdk = `sdk-${process.env.VERSION}`;
const { Server } = await import(`${sdk}/server/index.js`);
const { StreamableHTTPServerTransport } = await import(`${sdk}/server/streamableHttp.js`);
const { CallToolRequestSchema, ListToolsRequestSchema } = await import(`${sdk}/types.js`);

const echo = {
  name: "echo",
  description: "Returns the text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true },
};

async function connect() {
  const server = new Server({ name: "echo", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [echo] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    await new Promise((ready) => setTimeout(ready, 30));
    return { content: [{ type: "text", text: params.arguments.text }] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  return transport;
}

const shared = mode === "shared" ? await connect() : undefined;
createServer(async (request, response) => {
  if (request.method !== "POST") return response.writeHead(405, { Allow: "POST" }).end();
  await (shared ?? (await connect())).handleRequest(request, response);
}).listen(Number(port), "127.0.0.1");
