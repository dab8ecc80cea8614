import { createInterface } from "node:readline";

type Tool = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
};
type Request = { readonly id?: number; readonly method: string; readonly params?: Params };
type Params = {
  readonly protocolVersion?: string;
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
};

/** Runs a tool; what it gives is the text of its result. */
export type RunTool = (name: string, input: Readonly<Record<string, unknown>>) => string;

/** An MCP server over standard input and output, as small as one can be. */
export async function serveTools(server: string, tools: readonly Tool[], run: RunTool) {
  const answer = ({ method, params = {} }: Request): unknown => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: server, version: "1" },
        };
      case "tools/list":
        return { tools };
      case "tools/call":
        return {
          content: [{ type: "text", text: run(params.name ?? "", params.arguments ?? {}) }],
        };
      default:
        return {};
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request;
    if (request.id === undefined) continue;
    const reply = { jsonrpc: "2.0", id: request.id, result: answer(request) };
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  }
}
