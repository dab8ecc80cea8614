// An MCP server with sixty tools, each of which tells its name and input: `node mcp-server.ts`.
import { serveTools } from "../support/mcp-stdio.ts";
import { someTools } from "./tools.ts";

const tools = someTools(60).map(({ name, description, parameters }) => ({
  name,
  description,
  inputSchema: parameters,
}));

await serveTools("corp", tools, (name, input) => `${name} was run with ${JSON.stringify(input)}`);
