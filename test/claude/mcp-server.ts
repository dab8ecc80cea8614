import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

// An MCP server with forty tools, each of which writes a file of its own name: `node mcp-server.ts`.
type Request = { readonly id?: number; readonly method: string; readonly params?: Params };
type Params = {
  readonly protocolVersion?: string;
  readonly name?: string;
  readonly arguments?: { readonly text?: string };
};

const tools = Array.from({ length: 40 }, (_, at) => ({
  name: `write_${at}`,
  description: `Writes a text to the file write_${at}.txt.`,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
}));

function answer({ method, params }: Request): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "lab", version: "1" },
      };
    case "tools/list":
      return { tools };
    case "tools/call":
      writeFileSync(`${params?.name}.txt`, params?.arguments?.text ?? "");
      return { content: [{ type: "text", text: `${params?.name} wrote it` }] };
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) continue;
  const reply = { jsonrpc: "2.0", id: request.id, result: answer(request) };
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
