import type { Kind } from "./kind.ts";

/** Calls an MCP server from the provider's side, with credentials the provider holds. Only it can do so. */
export const mcpKind: Kind = { kind: "mcp" };
