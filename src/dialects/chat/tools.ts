import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { reportForeign } from "../shared/foreign-fields.ts";
import { parametersOf } from "../shared/json-schema.ts";
import { fieldsOf } from "../shared/loose.ts";
import { readOldFunction, readTool, type ToolForm } from "../shared/read-tool.ts";
import { collectRepairs } from "../shared/repairs.ts";
import { invalid } from "../shared/shape.ts";
import { ownExtra } from "./schema.ts";

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

/** `bodyReader` gives the same array for the same tools. */
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
