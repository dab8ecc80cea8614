import { clientName, type UpstreamName } from "../../turn/names.ts";
import type { Fields, ToolChoice } from "../../turn/turn.ts";
import { invalid, shaped } from "../shared/shape.ts";
import type { KindOfTool } from "./read-messages.ts";
import { choiceSchema } from "./schema.ts";

type ReadChoice = {
  readonly choice?: ToolChoice | undefined;
  readonly parallel?: false | undefined;
};

/** Reads `tool_choice`, which also says whether several calls may be made at once. */
export function readChoice(raw: unknown, kindOfTool: KindOfTool): ReadChoice {
  if (raw === undefined || raw === null) return {};
  const { type, name, disable_parallel_tool_use } = shaped(choiceSchema, raw, "tool_choice");
  const parallel = disable_parallel_tool_use === true ? false : undefined;
  switch (type) {
    case "auto":
    case "none":
      return { choice: { type }, parallel };
    case "any":
      return { choice: { type: "required" }, parallel };
    case "tool": {
      if (name == null || name === "")
        throw invalid("tool_choice.name", "must be the name of the tool to call");
      const tool = { kind: kindOfTool(name), name: clientName(name) };
      return { choice: { type: "tool", tool }, parallel };
    }
    default:
      return type satisfies never;
  }
}

/** Undefined where nothing has to be said. A list of allowed tools has no form here. */
export function writeChoice(
  choice: ToolChoice<UpstreamName> | undefined,
  parallel: boolean | undefined,
): Fields | undefined {
  const one = parallel === false ? { disable_parallel_tool_use: true } : {};
  switch (choice?.type) {
    case undefined:
      return parallel === false ? { type: "auto", ...one } : undefined;
    case "auto":
      return { type: "auto", ...one };
    case "required":
      return { type: "any", ...one };
    case "none":
      return { type: "none" };
    case "tool":
      return { type: "tool", name: choice.tool.name, ...one };
    case "allowed":
      return { type: choice.mode === "required" ? "any" : "auto", ...one };
    default:
      return choice satisfies never;
  }
}
