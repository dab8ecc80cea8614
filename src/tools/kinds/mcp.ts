import { clientName } from "../../turn/names.ts";
import type { Call, Fields, Result } from "../../turn/turn.ts";
import type { Kind } from "./kind.ts";

/** Calls an MCP server from the provider's side, with credentials the provider holds. Only it can do so. */
export const mcpKind: Kind = { kind: "mcp", ownCall };

function ownCall(item: Fields): readonly [Call, Result] | undefined {
  const { id, name, server_label: server, arguments: input, output } = item;
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  if (typeof output !== "string" || output === "") return undefined;
  return [
    {
      type: "call",
      id,
      kind: "function",
      name: clientName(name),
      namespace: typeof server === "string" ? server : undefined,
      input: typeof input === "string" ? input : "",
    },
    { type: "result", call: id, kind: "function", parts: [{ type: "text", text: output }] },
  ];
}
