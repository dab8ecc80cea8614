import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Callable, Tool } from "../../turn/turn.ts";
import { utf8Length } from "../../turn/utf8-length.ts";

/** The declaration of one tool as it is sent, but for what only its dialect adds. */
function definitionOf(tool: Callable): unknown {
  if (tool.type === "builtin") return tool.raw;
  const { type, name, description } = tool;
  return tool.type === "function"
    ? { type, name, description, parameters: tool.schema, strict: tool.strict }
    : { type, name, description, format: tool.format };
}

/** How many bytes declarations come to. */
export const toolBytes = (tools: readonly Tool[]): number =>
  tools.reduce((sum, tool) => sum + bytesOf(tool), 0);

const bytesOf = memoizeByIdentity((tool: Tool): number => {
  if (tool.type !== "namespace") return utf8Length(JSON.stringify(definitionOf(tool)));
  const { type, name, description } = tool;
  return utf8Length(JSON.stringify({ type, name, description })) + toolBytes(tool.tools);
});

/** About how many tokens a text of so many bytes is: tokenizers differ, and four bytes is usual for JSON. */
export const tokensIn = (bytes: number): number => Math.ceil(bytes / 4);
