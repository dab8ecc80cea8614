import { createInterface } from "node:readline";
import { someTools } from "./tools.ts";

// An MCP server with sixty tools, each of which tells its name and input: `node mcp-server.ts`.
type Request = { readonly id?: number; readonly method: string; readonly params?: Params };
type Params = {
  readonly protocolVersion?: string;
  readonly name?: string;
  readonly arguments?: unknown;
};

const tools = someTools(60).map(({ name, description, parameters }) => ({
  name,
  description,
  inputSchema: parameters,
}));

function answer({ method, params }: Request): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "corp", version: "1" },
      };
    case "tools/list":
      return { tools };
    case "tools/call": {
      const text = `${params?.name} was run with ${JSON.stringify(params?.arguments)}`;
      return { content: [{ type: "text", text }] };
    }
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
