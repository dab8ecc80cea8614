import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName, type UpstreamName } from "../../turn/names.ts";
import type { CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { parametersOf } from "../shared/json-schema.ts";
import { fieldsOf, textOf } from "../shared/loose.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { customSchema, extraOf, functionSchema, ownExtra, toolSchema } from "./schema.ts";

const none: readonly Tool[] = [];

/** Reads `tools`, or `functions` as they were before. Null is "none". */
export function readTools(tools: unknown, functions: unknown): readonly Tool[] {
  if (tools !== undefined && tools !== null) return readList(tools, "tools");
  if (functions !== undefined && functions !== null) return readList(functions, "functions");
  return none;
}

function readList(value: unknown, path: keyof typeof lists): readonly Tool[] {
  if (!Array.isArray(value)) throw invalid(path, `must be an array of ${path}`);
  return value.length === 0 ? none : lists[path](value);
}

/** `bodyReader` gives the same array for the same tools. */
const lists = {
  tools: memoizeByIdentity((list: readonly unknown[]): readonly Tool[] =>
    list.map((raw, at) => readTool(raw, `tools[${at}]`)),
  ),
  functions: memoizeByIdentity((list: readonly unknown[]): readonly Tool[] =>
    list.map((raw, at) => readFunction(raw, `functions[${at}]`)),
  ),
};

/** Chat nests what it says of a tool under its type; the Responses API does not, and clients mix them up. */
function readTool(raw: unknown, path: string): Tool {
  const tool = shaped(toolSchema, raw, path);
  const type = tool.type ?? (fieldsOf(tool.function) === undefined ? undefined : "function");
  switch (type) {
    case undefined:
      throw invalid(`${path}.type`, "must say what kind of tool it is, such as `function`");
    case "function": {
      const { type: _, function: inner, ...rest } = tool;
      if (inner === undefined && tool.name !== undefined) return readFunction(rest, path);
      return withOuter(readFunction(inner, `${path}.function`), type, rest);
    }
    case "custom": {
      const { type: _, custom: inner, ...rest } = tool;
      if (inner === undefined && tool.name !== undefined) return readCustom(rest, path);
      return withOuter(readCustom(inner, `${path}.custom`), type, rest);
    }
    default: {
      const name = textOf(tool.name) ?? textOf(tool.server_label) ?? type;
      return { type: "builtin", kind: type, name: clientName(name), dialect: "chat", raw: tool };
    }
  }
}

function readFunction(raw: unknown, path: string): FunctionTool {
  const { name, description, parameters, strict, ...rest } = shaped(functionSchema, raw, path);
  return {
    type: "function",
    name: clientName(name),
    description,
    schema: parameters,
    strict,
    ...extraOf(rest),
  };
}

function readCustom(raw: unknown, path: string): CustomTool {
  const { name, description, format, ...rest } = shaped(customSchema, raw, path);
  const grammar = fieldsOf(format?.grammar);
  return {
    type: "custom",
    name: clientName(name),
    description,
    // In our words a grammar is flat, as in the Responses API.
    format: grammar === undefined ? format : { type: "grammar", ...grammar },
    ...extraOf(rest),
  };
}

/** What stood beside the nested declaration is kept beside it. */
function withOuter<T extends FunctionTool | CustomTool>(tool: T, type: string, outer: Fields): T {
  const inner = tool.extra?.fields;
  const { extra: _, ...bare } = tool;
  return { ...bare, ...extraOf({ ...outer, [type]: inner }) } as T;
}

type WrittenTools = { readonly text: string | undefined; readonly decisions: readonly Decision[] };

/** The tools as JSON text. */
export const writeTools = memoizeByIdentity(
  (tools: readonly Tool<UpstreamName>[]): WrittenTools => {
    const decisions: Decision[] = [];
    const list = tools.flatMap((tool, at) => {
      const said = writeTool(tool);
      if (typeof said !== "string") return [said];
      decisions.push({ path: `tools[${at}]`, action: "dropped", reason: said });
      return [];
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
  said: Fields,
): Fields {
  const { [tool.type]: inner, ...outer } = ownExtra(tool.extra);
  return { ...outer, type: tool.type, [tool.type]: { ...fieldsOf(inner), ...said } };
}

function writeGrammar(format: Fields | undefined): Fields | undefined {
  if (format?.type !== "grammar" || format.grammar !== undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}
