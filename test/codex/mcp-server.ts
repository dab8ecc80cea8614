// An MCP server with one tool: `node mcp-server.ts`.
import { serveTools } from "../support/mcp-stdio.ts";

const tool = {
  name: "shout",
  description: "Says a text in capitals.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

await serveTools("local", [tool], (_, { text }) => String(text).toUpperCase());
