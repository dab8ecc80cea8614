import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName, type UpstreamName } from "../../turn/names.ts";
import type {
  CustomTool,
  Fields,
  FunctionTool,
  Tool,
  ToolChoice,
  ToolRef,
} from "../../turn/turn.ts";
import { reportForeign } from "../shared/content.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  parametersOf,
  repairInto,
  type Repair,
} from "../shared/shape.ts";
import { fieldsOf, filledText, given } from "../shared/loose.ts";
import { chooseTool, readOldFunction, readTool, type ToolForm } from "../shared/read-tool.ts";
import { ownChatExtra } from "./request-fields.ts";

const forms =
  "must be `auto`, `none`, `required` or an object that names a tool; leave it out for the default";

/**
 * Reads `tool_choice` in every form, and the old `function_call`. Null is refused, as the API does: a
 * choice that went missing is not the default.
 */
export function readToolChoice(
  choice: unknown,
  legacy: unknown,
  repair: Repair,
): ToolChoice | undefined {
  if (choice !== undefined)
    return readForm(choice, "tool_choice", () => repair("tool_choice", "chat says it otherwise"));
  if (legacy === undefined || legacy === null) return undefined;
  // The old field is reported once, by the reader of the request.
  if (typeof legacy === "string") return readForm(legacy, "function_call", () => {});
  return { type: "tool", tool: readNamed("function", legacy, "function_call") };
}

function readForm(choice: unknown, path: string, repair: () => void): ToolChoice {
  switch (choice) {
    case "auto":
    case "none":
    case "required":
      return { type: choice };
    case "any": // The word of another API.
      repair();
      return { type: "required" };
    default:
  }
  if (typeof choice !== "object" || choice === null) throw invalid(path, forms);
  const form = fieldsAt(choice, path, "an object");
  if (form.type !== "allowed_tools") return chooseTool(readRef(form, path, repair));
  const isFlat = form.allowed_tools === undefined;
  if (isFlat) repair();
  const at = isFlat ? path : `${path}.allowed_tools`;
  const allowed = isFlat ? form : form.allowed_tools;
  const { mode, tools } = fieldsAt(allowed, at, "an object with `mode` and `tools`");
  if (mode !== "auto" && mode !== "required")
    throw invalid(`${at}.mode`, "must be `auto` or `required`");
  if (!Array.isArray(tools))
    throw invalid(`${at}.tools`, "must be an array of tools to choose from");
  const refs = tools.map((tool: unknown, index) => {
    const where = `${at}.tools[${index}]`;
    return readRef(fieldsAt(tool, where, "an object"), where, repair);
  });
  return { type: "allowed", mode, tools: refs };
}

function readRef(form: Fields, path: string, repair: () => void): ToolRef {
  const kind = form.type ?? (form.function === undefined ? undefined : "function");
  if (typeof kind !== "string" || kind === "")
    throw invalid(`${path}.type`, "must say what kind of tool is meant, such as `function`");
  if (kind !== "function" && kind !== "custom") {
    const [name, server] = [filledText(form.name), filledText(form.server_label)];
    // A tool of a server is like a member of a namespace.
    const namespace = name && server;
    return { kind, name: clientName(name ?? server ?? kind), ...given({ namespace }) };
  }
  const isFlat = form[kind] === undefined && form.name !== undefined;
  if (isFlat || form.type === undefined) repair();
  return isFlat ? readNamed(kind, form, path) : readNamed(kind, form[kind], `${path}.${kind}`);
}

function readNamed(kind: string, value: unknown, path: string): ToolRef {
  const named = fieldsAt(value, path, "an object with `name`");
  const name = clientName(filledTextAt(named.name, `${path}.name`));
  return { kind, name, ...given({ namespace: filledText(named.namespace) }) };
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

const form: ToolForm = {
  dialect: "chat",
  nested: true,
  otherForm: "chat nests the definition of a tool under its type",
};

/** The tools of a list, and the repairs that reading them took. */
type ReadTools = { readonly tools: readonly Tool[]; readonly repairs: readonly Decision[] };

const none: ReadTools = { tools: [], repairs: [] };

/** Reads `tools`, or the old `functions`. Null is "none". */
export function readTools({ tools, functions }: Fields): ReadTools {
  const path = tools == null ? "functions" : "tools";
  const list = tools ?? functions;
  if (list == null) return none;
  if (!Array.isArray(list)) throw invalid(path, `must be an array of ${path}`);
  return list.length === 0 ? none : readLists[path](list);
}

/** `BodyReader` gives the same array for the same tools. */
const readLists = {
  tools: memoizeByIdentity((list: readonly unknown[]): ReadTools => {
    const repairs: Decision[] = [];
    const repair = repairInto(repairs);
    return { tools: list.map((raw, at) => readTool(raw, `tools[${at}]`, form, repair)), repairs };
  }),
  functions: memoizeByIdentity((list: readonly unknown[]): ReadTools => ({
    tools: list.map((raw, at) => readOldFunction(raw, `functions[${at}]`, form)),
    repairs: [],
  })),
};

type WrittenTools = { readonly text: string | undefined; readonly decisions: readonly Decision[] };

/** The tools as JSON text. */
export const writeTools = memoizeByIdentity(
  (tools: readonly Tool<UpstreamName>[]): WrittenTools => {
    const decisions: Decision[] = [];
    const list = tools.flatMap((tool, at) => {
      const drop = (reason: string): void =>
        void decisions.push({ path: `tools[${at}]`, action: "dropped", reason });
      const fields = writeTool(tool);
      if (typeof fields === "string") {
        drop(fields);
        return [];
      }
      if (tool.type !== "builtin") reportForeign(tool.extra, "chat", drop);
      return [fields];
    });
    return { text: list.length === 0 ? undefined : JSON.stringify(list), decisions };
  },
);

/** A tool as chat declares it, or the reason why chat cannot. */
function writeTool(tool: Tool<UpstreamName>): Fields | string {
  switch (tool.type) {
    case "function": {
      const { name, description, schema, strict } = tool;
      return declaration(tool, { name, description, parameters: parametersOf(schema), strict });
    }
    case "custom": {
      const { name, description, format } = tool;
      return declaration(tool, { name, description, format: writeGrammar(format) });
    }
    case "builtin":
      return tool.dialect === "chat"
        ? tool.raw
        : `chat has no ${tool.kind} tool as the ${tool.dialect} dialect has`;
    case "namespace":
      return "chat has no namespaces";
    default:
      return tool satisfies never;
  }
}

function declaration(
  tool: FunctionTool<UpstreamName> | CustomTool<UpstreamName>,
  fields: Fields,
): Fields {
  const { [tool.type]: inner, ...outer } = ownChatExtra(tool.extra);
  return { ...outer, type: tool.type, [tool.type]: { ...fieldsOf(inner), ...fields } };
}

function writeGrammar(format: Fields | undefined): Fields | undefined {
  if (format?.type !== "grammar" || format.grammar !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}
