import { clientName, type UpstreamName } from "../../turn/names.ts";
import type { ToolChoice, Fields, ToolRef } from "../../turn/turn.ts";
import { chooseTool } from "../shared/choose-tool.ts";
import { filledText } from "../shared/loose.ts";
import type { Repair } from "../shared/repairs.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { allowedSchema, fieldsSchema, inNamespace, namedSchema } from "./schema.ts";

const forms =
  "must be `auto`, `none`, `required` or an object that names a tool; leave it out for the default";

/**
 * Reads `tool_choice` in every form, and `function_call` as it was before. Null
 * is refused, as the API does: a choice that went missing is not the default.
 */
export function readToolChoice(
  choice: unknown,
  legacy: unknown,
  repair: Repair,
): ToolChoice | undefined {
  if (choice !== undefined)
    return readForm(choice, "tool_choice", () => repair("tool_choice", "chat says it otherwise"));
  if (legacy === undefined || legacy === null) return undefined;
  // That it is the old field is repaired as a whole.
  if (typeof legacy === "string") return readForm(legacy, "function_call", () => {});
  const { name } = shaped(namedSchema, legacy, "function_call");
  return { type: "tool", tool: { kind: "function", name: clientName(name) } };
}

function readForm(choice: unknown, path: string, repair: () => void): ToolChoice {
  switch (choice) {
    case "auto":
    case "none":
    case "required":
      return { type: choice };
    case "any": // Another word for it that clients have learned elsewhere.
      repair();
      return { type: "required" };
    default:
  }
  if (typeof choice !== "object" || choice === null) throw invalid(path, forms);
  const form = shaped(fieldsSchema, choice, path);
  if (form.type !== "allowed_tools") return chooseTool(readRef(form, path, repair));
  const isFlat = form.allowed_tools === undefined;
  if (isFlat) repair();
  const at = isFlat ? path : `${path}.allowed_tools`;
  const { mode, tools } = shaped(allowedSchema, isFlat ? form : form.allowed_tools, at);
  return {
    type: "allowed",
    mode,
    tools: tools.map((tool, index) => readRef(tool, `${at}.tools[${index}]`, repair)),
  };
}

function readRef(form: Fields, path: string, repair: () => void): ToolRef {
  const kind = form.type ?? (form.function === undefined ? undefined : "function");
  if (typeof kind !== "string" || kind === "")
    throw invalid(`${path}.type`, "must say what kind of tool is meant, such as `function`");
  if (kind !== "function" && kind !== "custom") {
    const [name, server] = [filledText(form.name), filledText(form.server_label)];
    // One tool of a server is to it what a member is to its namespace.
    return { kind, name: clientName(name ?? server ?? kind), ...inNamespace(name && server) };
  }
  const isFlat = form[kind] === undefined && form.name !== undefined;
  if (isFlat || form.type === undefined) repair();
  const { name, namespace } = isFlat
    ? shaped(namedSchema, form, path)
    : shaped(namedSchema, form[kind], `${path}.${kind}`);
  return { kind, name: clientName(name), ...inNamespace(filledText(namespace)) };
}

export function writeToolChoice(choice: ToolChoice<UpstreamName>): unknown {
  switch (choice.type) {
    case "auto":
    case "none":
    case "required":
      return choice.type;
    case "tool":
      return writeRef(choice.tool);
    case "allowed": {
      const { mode, tools } = choice;
      return { type: "allowed_tools", allowed_tools: { mode, tools: tools.map(writeRef) } };
    }
    default:
      return choice satisfies never;
  }
}

const writeRef = ({ kind, name }: ToolRef<UpstreamName>): Fields =>
  kind === "function" || kind === "custom" ? { type: kind, [kind]: { name } } : { type: kind };
