import { z } from "zod";
import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { type AnyName, clientName, type UpstreamName } from "../../turn/names.ts";
import type { SharedText } from "../../turn/shared-text.ts";
import type { Callable, Extra, Fields, Tool, ToolChoice, ToolRef } from "../../turn/turn.ts";
import { repairInto, invalid, parametersOf, shaped, type Repair } from "../shared/shape.ts";
import { given } from "../shared/loose.ts";
import { chooseTool, flatFormat, readTool, type ToolForm } from "../shared/read-tool.ts";
import { ownResponsesExtra, type OnReason, silently } from "./fields.ts";

const words = z.enum(["auto", "none", "required"]);
const choice = z.union([words, z.looseObject({ type: z.string() })]);
const allowed = z.looseObject({
  mode: z.enum(["auto", "required"]).nullish(),
  tools: z.array(z.looseObject({ type: z.string() })),
});
const named = z.looseObject({ name: z.string().min(1), namespace: z.string().nullish() });
const served = z.looseObject({ server_label: z.string(), name: z.string().nullish() });

/** Reads `tool_choice` in every form of the API, and in Chat's nested ones. Null is none of them. */
export function readToolChoice(raw: unknown, repair: Repair): ToolChoice | undefined {
  if (raw === undefined) return undefined;
  if (raw === null)
    throw invalid("tool_choice", "must name a choice; leave it out for the default, `auto`");
  const read = shaped(choice, raw, "tool_choice");
  if (typeof read === "string") return { type: read };
  const word = words.safeParse(read.type);
  const repairNested = (): void =>
    repair("tool_choice", "the Responses API does not nest a choice");
  if (word.success) {
    repairNested();
    return { type: word.data };
  }
  if (read.type !== "allowed_tools") return chooseTool(readRef(read, "tool_choice", repairNested));
  const isNested = typeof read.allowed_tools === "object" && read.allowed_tools !== null;
  if (isNested) repairNested();
  const path = isNested ? "tool_choice.allowed_tools" : "tool_choice";
  const { mode, tools } = shaped(allowed, isNested ? read.allowed_tools : read, path);
  if (tools.length === 0)
    throw invalid(`${path}.tools`, 'must name a tool; to allow none, choose "none"');
  return {
    type: "allowed",
    mode: mode ?? "auto",
    tools: tools.map((tool, at) => readRef(tool, `${path}.tools[${at}]`, repairNested)),
  };
}

function readRef(raw: Fields, path: string, repair: () => void): ToolRef {
  const kind = String(raw.type);
  if (kind === "mcp") {
    const { server_label: server, name } = shaped(served, raw, path);
    // One tool of a server is to it what a member is to its namespace.
    return name == null
      ? { kind, name: clientName(server) }
      : { kind, name: clientName(name), namespace: server };
  }
  if (kind === "namespace") return { kind, name: clientName(shaped(named, raw, path).name) };
  if (kind !== "function" && kind !== "custom") return { kind, name: clientName(kind) };
  const inner = raw[kind];
  const isNested = typeof inner === "object" && inner !== null;
  if (isNested) repair();
  const { name, namespace } = shaped(
    named,
    isNested ? inner : raw,
    isNested ? `${path}.${kind}` : path,
  );
  return { kind, name: clientName(name), ...given({ namespace }) };
}

export function writeToolChoice<Name extends AnyName>(toolChoice: ToolChoice<Name>): unknown {
  switch (toolChoice.type) {
    case "tool":
      return writeRef(toolChoice.tool);
    case "allowed":
      return {
        type: "allowed_tools",
        mode: toolChoice.mode,
        tools: toolChoice.tools.map(writeRef),
      };
    default:
      return toolChoice.type;
  }
}

function writeRef<Name extends AnyName>({ kind, name, namespace }: ToolRef<Name>): Fields {
  if (kind === "mcp")
    return namespace === undefined
      ? { type: "mcp", server_label: name }
      : { type: "mcp", server_label: namespace, name };
  if (kind !== "function" && kind !== "custom") return { type: kind };
  return { type: kind, name, ...given({ namespace }) };
}

export const toolForm: ToolForm = {
  dialect: "responses",
  nested: false,
  otherForm: "the Responses API does not nest the definition of a tool",
};

/** The tools of a list, and the repairs that reading took. */
type ReadTools = { readonly tools: readonly Tool[]; readonly repairs: readonly Decision[] };

const list = z.array(z.unknown());
const none: ReadTools = { tools: [], repairs: [] };

export const readTools = (raw: unknown): ReadTools =>
  raw === undefined || raw === null ? none : readList(raw);

/** The body reader gives the same array for the same text. */
const readList = memoizeByIdentity((raw: object): ReadTools => {
  const repairs: Decision[] = [];
  const repair = repairInto(repairs);
  const tools = shaped(list, raw, "tools").map((entry, at) =>
    readTool(entry, `tools[${at}]`, toolForm, repair),
  );
  return { tools, repairs };
});

/** Differences of a declaration by its reader. */
type Audience = {
  /** The default of `strict` for functions. */
  readonly strict?: boolean | undefined;
  /** Every field that readers of answers want, and no secrets. */
  readonly echo?: boolean | undefined;
  readonly report: OnReason;
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
        ...ownResponsesExtra(tool.extra, to.report),
      };
    case "custom":
      return {
        type: "custom",
        name: tool.name,
        ...given({
          description: tool.description,
          format: tool.format && flatFormat(tool.format),
        }),
        ...ownResponsesExtra(tool.extra, to.report),
      };
    case "namespace":
      return {
        type: "namespace",
        name: tool.name,
        description: tool.description ?? "",
        tools: tool.tools.map((inner) => writeTool(inner, to)).filter((one) => one !== undefined),
        ...ownResponsesExtra(tool.extra, to.report),
      };
    case "builtin":
      if (tool.dialect !== "responses") {
        to.report(`\`${tool.name}\` exists only in the ${tool.dialect} dialect`);
        return undefined;
      }
      return to.echo === true ? withoutSecrets(tool.raw) : tool.raw;
    default:
      return tool satisfies never;
  }
}

/** The tools that an item declares. */
export const writeItemTools = (tools: readonly Tool[], report: OnReason): Fields[] =>
  tools.map((tool) => writeTool(tool, { report })).filter((tool) => tool !== undefined);

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
/** The same for a client of another: functions are strict by default here and nowhere else. */
export const othersToolsText = toolsWriter(false);

/** The tools as an answer repeats them. */
export const echoText = memoizeByIdentity((tools: readonly Tool[]): SharedText => {
  const to = { strict: true, echo: true, report: silently };
  return { text: JSON.stringify(tools.map((tool) => writeTool(tool, to))) };
});

const searchExtra = (fields: Fields): Extra => ({ dialect: "responses", fields });

/** A search for tools that the client runs. The provider loads the tools that its result brings. */
export const clientToolSearch = {
  declaration: (description: string, parameters: Fields): Callable => ({
    type: "builtin",
    kind: "tool_search",
    name: clientName("tool_search"),
    dialect: "responses",
    raw: { type: "tool_search", execution: "client", description, parameters },
  }),
  /** Marks a call. Without it the provider runs the search itself. */
  call: searchExtra({ execution: "client" }),
  result: searchExtra({ execution: "client", status: "completed" }),
  /** Marks a tool that the provider loads when a search has found it. */
  foundTool: searchExtra({ defer_loading: true }),
};
