import type { ToolChoice, ToolRef } from "../../turn/turn.ts";

/** The choice of one entry; of a namespace, which is never called itself, one of its tools has to be called. */
export const chooseTool = (tool: ToolRef): ToolChoice =>
  tool.kind === "namespace"
    ? { type: "allowed", mode: "required", tools: [tool] }
    : { type: "tool", tool };
