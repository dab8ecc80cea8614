import type { Kind } from "./kind.ts";

/** Tools that only the provider who has them can run, and that one dialect has a form for. */
export const hostedKinds: readonly Kind[] = [
  "web_fetch",
  "code_execution",
  "tool_search_tool",
  "mcp_toolset",
  "advisor",
  // A model trained for it is part of these two.
  "computer_toolset",
  "browser_toolset",
].map((kind) => ({ kind, isDialectBound: true }));
