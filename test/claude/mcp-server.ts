// An MCP server with forty tools, each of which writes to a file of that name: `node mcp-server.ts`.
import { appendFileSync } from "node:fs";
import { serveTools } from "../support/mcp-stdio.ts";

const tools = Array.from({ length: 40 }, (_, at) => ({
  name: `write_${at}`,
  description: `Writes a text to the file write_${at}.txt.`,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
}));

await serveTools("lab", tools, (name, { text = "" }) => {
  appendFileSync(`${name}.txt`, String(text));
  return `${name} wrote it`;
});
