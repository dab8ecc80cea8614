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
  collectRepairs,
  fieldsAt,
  filledTextAt,
  invalid,
  parametersOf,
  type Repair,
} from "../shared/shape.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";
import { chooseTool, readOldFunction, readTool, type ToolForm } from "../shared/read-tool.ts";
import { inNamespace, ownExtra } from "./request-fields.ts";

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
  return { type: "tool", tool: readNamed("function", legacy, "function_call") };
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
  const form = fieldsAt(choice, path, "an object");
  if (form.type !== "allowed_tools") return chooseTool(readRef(form, path, repair));
  const isFlat = form.allowed_tools === undefined;
  if (isFlat) repair();
  const at = isFlat ? path : `${path}.allowed_tools`;
  const allowed = fieldsAt(
    isFlat ? form : form.allowed_tools,
    at,
    "an object with `mode` and `tools`",
  );
  const { mode, tools } = allowed;
  if (mode !== "auto" && mode !== "required")
    throw invalid(`${at}.mode`, "must be `auto` or `required`");
  if (!Array.isArray(tools))
    throw invalid(`${at}.tools`, "must be an array of tools to choose from");
  return {
    type: "allowed",
    mode,
    tools: tools.map((tool: unknown, index) => {
      const where = `${at}.tools[${index}]`;
      return readRef(fieldsAt(tool, where, "an object"), where, repair);
    }),
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
  return isFlat ? readNamed(kind, form, path) : readNamed(kind, form[kind], `${path}.${kind}`);
}

function readNamed(kind: string, value: unknown, path: string): ToolRef {
  const { name, namespace } = fieldsAt(value, path, "an object with `name`");
  return {
    kind,
    name: clientName(filledTextAt(name, `${path}.name`)),
    ...inNamespace(filledText(namespace)),
  };
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
  otherForm: "chat keeps what a tool is under its type",
};

/** What a list of tools holds, and what had to be repaired to read it. */
type ReadTools = { readonly tools: readonly Tool[]; readonly repairs: readonly Decision[] };

const none: ReadTools = { tools: [], repairs: [] };

/** Reads `tools`, or `functions` as they were before. Null is "none". */
export function readTools(tools: unknown, functions: unknown): ReadTools {
  if (tools !== undefined && tools !== null) return readList(tools, "tools");
  if (functions !== undefined && functions !== null) return readList(functions, "functions");
  return none;
}

function readList(value: unknown, path: keyof typeof lists): ReadTools {
  if (!Array.isArray(value)) throw invalid(path, `must be an array of ${path}`);
  return value.length === 0 ? none : lists[path](value);
}

/** `BodyReader` gives the same array for the same tools. */
const lists = {
  tools: memoizeByIdentity((list: readonly unknown[]): ReadTools => {
    const { add, decisions } = collectRepairs();
    const tools = list.map((raw, at) => readTool(raw, `tools[${at}]`, form, add));
    return { tools, repairs: decisions() };
  }),
  functions: memoizeByIdentity((list: readonly unknown[]): ReadTools => ({
    tools: list.map((raw, at) => readOldFunction(raw, `functions[${at}]`, form)),
    repairs: none.repairs,
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

/** A tool in chat's words, or why chat has none. */
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
  const { [tool.type]: inner, ...outer } = ownExtra(tool.extra);
  return { ...outer, type: tool.type, [tool.type]: { ...fieldsOf(inner), ...fields } };
}

function writeGrammar(format: Fields | undefined): Fields | undefined {
  if (format?.type !== "grammar" || format.grammar !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}
