// Lists the tools and calls five with the TypeScript SDK: client.mjs CALLS stdio PROGRAM DATA | client.mjs CALLS http URL KEY
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages are in the working directory, not beside this file.
const require = createRequire(process.cwd() + "/");
const sdk = (path) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + path)));
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");

const [, , callsFile, kind, at, other] = process.argv;
const calls = JSON.parse(readFileSync(callsFile, "utf8"));
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: at, args: ["mcp", "--data", other], stderr: "ignore", env: process.env })
    : new StreamableHTTPClientTransport(new URL(at), { requestInit: { headers: { "x-api-key": other } } });
const client = new Client({ name: "outside", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
for (const call of calls) {
  // The SDK validates the structured answer by the tool's output schema.
  const result = await client.callTool(call);
  if (result.isError || !result.structuredContent) throw new Error(call.name + ": " + result.content[0].text.slice(0, 300));
}
console.log(`typescript ${kind}: ${tools.length} tools, ${calls.length} calls answered`);
await client.close();
