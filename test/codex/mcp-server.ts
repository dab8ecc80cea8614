import { createInterface } from "node:readline";

// An MCP server with one tool, as small as one can be: `node mcp-server.ts`.
type Request = { readonly id?: number; readonly method: string; readonly params?: Params };
type Params = {
  readonly protocolVersion?: string;
  readonly arguments?: { readonly text?: string };
};

const tool = {
  name: "shout",
  description: "Says a text in capitals.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

function answer({ method, params }: Request): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "local", version: "1" },
      };
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      return { content: [{ type: "text", text: params?.arguments?.text?.toUpperCase() }] };
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
