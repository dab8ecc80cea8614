import { z } from "zod";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName, type AnyName, type UpstreamName } from "../../turn/names.ts";
import type { Callable, CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { jsonSchema, parametersOf } from "../shared/json-schema.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { extraOf, given, ownExtra, silently, type Report } from "./fields.ts";

const list = z.array(z.unknown());
const anyTool = z.looseObject({ type: z.string().nullish() });
const name = z.string().min(1);
const functionFields = z.looseObject({
  name,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
});
const customFields = z.looseObject({
  name,
  description: z.string().nullish(),
  format: z.record(z.string(), z.unknown()).nullish(),
});
const namespaceFields = z.looseObject({
  name,
  description: z.string().nullish(),
  tools: list.nullish(),
});
const mcpFields = z.looseObject({ server_label: name });

const none: readonly Tool[] = [];

export const readTools = (raw: unknown): readonly Tool[] =>
  raw === undefined || raw === null ? none : readList(raw);

/** The body reader gives the same array for the same text. */
const readList = memoizeByIdentity((raw: object): readonly Tool[] =>
  shaped(list, raw, "tools").map((entry, at) => readTool(entry, `tools[${at}]`)),
);

function readTool(raw: unknown, path: string): Tool {
  const tool = shaped(anyTool, raw, path);
  if (tool.type !== "namespace") return readCallable(tool, path);
  const { name: said, description, tools } = shaped(namespaceFields, tool, path);
  return {
    type: "namespace",
    name: said,
    ...given({ description }),
    tools: (tools ?? []).map((inner, at) => {
      const innerPath = `${path}.tools[${at}]`;
      const member = shaped(anyTool, inner, innerPath);
      if (member.type !== "namespace") return readCallable(member, innerPath);
      throw invalid(`${innerPath}.type`, "must not be a namespace: namespaces do not nest");
    }),
    ...extraOf(tool, ["type", "name", "description", "tools"]),
  };
}

function readCallable(raw: z.infer<typeof anyTool>, path: string): Callable {
  // Chat keeps the fields of a tool in an object named after its type.
  const type = raw.type ?? ("function" in raw ? "function" : undefined);
  switch (type) {
    case "function":
      return readFunction(raw, path);
    case "custom":
      return readCustom(raw, path);
    case undefined:
    case null:
      throw invalid(`${path}.type`, 'must say what the tool is, such as "function"');
    default: {
      const label = type === "mcp" ? shaped(mcpFields, raw, path).server_label : type;
      return { type: "builtin", kind: type, name: clientName(label), dialect: "responses", raw };
    }
  }
}

function readFunction(raw: Fields, path: string): FunctionTool {
  const { fields, where, outer } = unnested(raw, "function", path);
  const { name: said, description, parameters, strict } = shaped(functionFields, fields, where);
  return {
    type: "function",
    name: clientName(said),
    ...given({
      description,
      schema: parameters,
      // Who writes as for Chat means what is meant there when nothing is said.
      strict: outer === undefined ? strict : (strict ?? false),
    }),
    ...extraOf({ ...outer, ...fields }, ["type", "name", "description", "parameters", "strict"]),
  };
}

function readCustom(raw: Fields, path: string): CustomTool {
  const { fields, where, outer } = unnested(raw, "custom", path);
  const { name: said, description, format } = shaped(customFields, fields, where);
  return {
    type: "custom",
    name: clientName(said),
    ...given({ description, format: format && flatFormat(format) }),
    ...extraOf({ ...outer, ...fields }, ["type", "name", "description", "format"]),
  };
}

function unnested(
  raw: Fields,
  type: string,
  path: string,
): { fields: Fields; where: string; outer?: Fields } {
  const { [type]: inner, ...outer } = raw;
  if (typeof inner !== "object" || inner === null) return { fields: raw, where: path };
  return { fields: inner as Fields, where: `${path}.${type}`, outer };
}

/** Chat keeps a grammar one level deeper. */
function flatFormat(format: Fields): Fields {
  const { grammar, ...outer } = format;
  return typeof grammar === "object" && grammar !== null ? { ...outer, ...grammar } : format;
}

/** How a declaration differs by whom it is for. */
type Audience = {
  /** What a function means that does not say whether it is strict. */
  readonly strict?: boolean | undefined;
  /** Every field that readers of answers want, and no secrets. */
  readonly echo?: boolean | undefined;
  readonly report: Report;
};

function writeTool<Name extends AnyName>(tool: Tool<Name>, to: Audience): Fields | undefined {
  switch (tool.type) {
    case "function":
      return {
        type: "function",
        name: tool.name,
        ...(to.echo === true
          ? { description: tool.description ?? null, parameters: parametersOf(tool.schema) ?? null }
          : given({ description: tool.description, parameters: parametersOf(tool.schema) })),
        ...given({ strict: tool.strict ?? to.strict }),
        ...ownExtra(tool.extra, to.report),
      };
    case "custom":
      return {
        type: "custom",
        name: tool.name,
        ...given({
          description: tool.description,
          format: tool.format && flatFormat(tool.format),
        }),
        ...ownExtra(tool.extra, to.report),
      };
    case "namespace":
      return {
        type: "namespace",
        name: tool.name,
        description: tool.description ?? "",
        tools: tool.tools.map((inner) => writeTool(inner, to)).filter((one) => one !== undefined),
        ...ownExtra(tool.extra, to.report),
      };
    case "builtin":
      if (tool.dialect !== "responses") {
        to.report(`\`${tool.name}\` is a tool that only the ${tool.dialect} dialect has`);
        return undefined;
      }
      return to.echo === true ? withoutSecrets(tool.raw) : tool.raw;
    default:
      return tool satisfies never;
  }
}

/** Keys to other servers are not repeated, nor does the API itself. */
function withoutSecrets(raw: Fields): Fields {
  if (raw.type !== "mcp") return raw;
  const { authorization: _, headers: __, ...shown } = raw;
  return shown;
}

type Written = { readonly text: string; readonly reasons: readonly string[] };
type WriteTools = (tools: readonly Tool<UpstreamName>[]) => Written;

const toolsWriter = (strict?: boolean): WriteTools =>
  memoizeByIdentity((tools) => {
    const reasons: string[] = [];
    const report = (reason: string): void => void reasons.push(reason);
    const fields = tools.map((tool) => writeTool(tool, { strict, report }));
    return { text: JSON.stringify(fields.filter((tool) => tool !== undefined)), reasons };
  });

/** The tools as JSON text for a request of a client of this dialect. */
export const ownToolsText = toolsWriter();
/** The same for a client of another: a function that does not say so is strict here and nowhere else. */
export const othersToolsText = toolsWriter(false);

/** The tools as an answer repeats them. */
export const echoText = memoizeByIdentity((tools: readonly Tool[]): string => {
  const to = { strict: true, echo: true, report: silently };
  return JSON.stringify(tools.map((tool) => writeTool(tool, to)));
});
