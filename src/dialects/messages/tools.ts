import { memoizeByIdentity } from "../../turn/memoize.ts";
import { clientName, type UpstreamName } from "../../turn/names.ts";
import type { Fields, FunctionTool, Tool, ToolChoice } from "../../turn/turn.ts";
import { reportForeign, ownExtra } from "../shared/content.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalFlagAt,
  optionalTextAt,
  parametersOf,
  schemaAt,
} from "../shared/shape.ts";
import { filledText, given } from "../shared/loose.ts";
import { messagesExtra } from "./extra.ts";
import type { KindOfTool } from "./read-request.ts";

type ReadChoice = {
  readonly choice?: ToolChoice | undefined;
  readonly parallel?: false | undefined;
};

/** Reads `tool_choice`, which also says whether several calls may be made at once. */
export function readChoice(raw: unknown, kindOfTool: KindOfTool): ReadChoice {
  if (raw === undefined || raw === null) return {};
  const PATH = "tool_choice";
  const { type, ...form } = fieldsAt(raw, PATH, 'an object such as {"type":"auto"}');
  const name = optionalTextAt(form.name, `${PATH}.name`);
  const isOne = optionalFlagAt(form.disable_parallel_tool_use, `${PATH}.disable_parallel_tool_use`);
  const parallel = isOne === true ? false : undefined;
  switch (type) {
    case "auto":
    case "none":
      return { choice: { type }, parallel };
    case "any":
      return { choice: { type: "required" }, parallel };
    case "tool": {
      if (name === undefined || name === "")
        throw invalid("tool_choice.name", "must be the name of the tool to call");
      const tool = { kind: kindOfTool(name), name: clientName(name) };
      return { choice: { type: "tool", tool }, parallel };
    }
    default:
      throw invalid(`${PATH}.type`, "must be one of auto, any, tool, none");
  }
}

/** Undefined for the default. A list of allowed tools has no form here. */
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

/** A family of tools that the provider defines. Its versions are data: a date behind the name. */
type ToolFamily = {
  /** The kind of tool in a turn. */
  readonly kind: string;
  /** The name in calls if it is not the kind, unless the declaration has one. */
  readonly name?: string | undefined;
};

const families: ReadonlyMap<string, ToolFamily> = new Map<string, ToolFamily>([
  ..."bash memory computer web_search web_fetch code_execution advisor computer_toolset browser_toolset mcp_toolset"
    .split(" ")
    .map((kind) => [kind, { kind }] as const),
  ["text_editor", { kind: "text_editor", name: "str_replace_based_edit_tool" }],
  ["tool_search_tool_regex", { kind: "tool_search_tool", name: "tool_search_tool_regex" }],
  ["tool_search_tool_bm25", { kind: "tool_search_tool", name: "tool_search_tool_bm25" }],
]);

/** The family of a type; an unknown type is a separate kind. */
function familyOf(type: string): ToolFamily {
  const [, family = type] = /^(.+)_\d{8}$/.exec(type) ?? [];
  return families.get(family) ?? { kind: type };
}

/** True if the provider searches for deferred tools, so that the client does not. */
const isSearch = (kind: string): boolean => kind === "tool_search_tool";

const none: readonly Tool[] = [];

/** The tools of a request. `loaded`: the names of tools that the conversation has loaded. */
export function readTools(list: unknown, loaded: () => ReadonlySet<string>): readonly Tool[] {
  if (list === undefined || list === null) return none;
  if (!Array.isArray(list)) throw invalid("tools", "must be an array of tools");
  if (list.length === 0) return none;
  const { tools, deferred } = readList(list);
  if (deferred.length === 0) return tools;
  const names = loaded();
  const hidden = deferred.filter((name) => !names.has(name));
  return hidden.length === 0 ? tools : withDeferred(list, hidden);
}

type ReadList = {
  readonly tools: readonly Tool[];
  /** The names of the tools that the client's own search loads. */
  readonly deferred: readonly string[];
  readonly withHidden: Map<string, readonly Tool[]>;
};

/** `BodyReader` gives the same array for the same tools. */
const readList = memoizeByIdentity((list: readonly unknown[]): ReadList => {
  const tools = list.map((raw, at) => readTool(raw, `tools[${at}]`));
  const isSearched = tools.some((tool) => tool.type === "builtin" && isSearch(tool.kind));
  const deferred = isSearched
    ? []
    : tools.flatMap((tool) => (tool.type === "function" && isDeferred(tool) ? tool.name : []));
  return { tools, deferred, withHidden: new Map() };
});

const MOST = 64;

/** Returns the same list for the same names, because results about a list are cached by identity. */
function withDeferred(list: readonly unknown[], hidden: readonly string[]): readonly Tool[] {
  const { tools, withHidden } = readList(list);
  const key = JSON.stringify(hidden);
  let made = withHidden.get(key);
  if (made === undefined) {
    const names = new Set(hidden);
    made = tools.map((tool) =>
      tool.type === "function" && names.has(tool.name) ? asDeferred(tool) : tool,
    );
    if (withHidden.size >= MOST) withHidden.clear();
    withHidden.set(key, made);
  }
  return made;
}

const asDeferred = (tool: FunctionTool): FunctionTool => ({ ...tool, deferred: true });

const isDeferred = ({ extra }: FunctionTool): boolean => extra?.hints?.defer_loading === true;

function readTool(raw: unknown, path: string): Tool {
  const tool = fieldsAt(raw, path, "a tool: an object with `name` and `input_schema`");
  const type = optionalTextAt(tool.type, `${path}.type`) ?? "custom";
  if (type === "custom") return readCustom(tool, path);
  optionalTextAt(tool.name, `${path}.name`);
  const { kind, name } = familyOf(type);
  const called = filledText(tool.name) ?? filledText(tool.mcp_server_name) ?? name ?? kind;
  return { type: "builtin", kind, name: clientName(called), dialect: "messages", raw: tool };
}

function readCustom(raw: Fields, path: string): FunctionTool {
  const { type: _, name, description, input_schema, strict, defer_loading, ...rest } = raw;
  return {
    type: "function",
    name: clientName(filledTextAt(name, `${path}.name`)),
    ...given({
      description: optionalTextAt(description, `${path}.description`),
      schema: input_schema == null ? undefined : schemaAt(input_schema, `${path}.input_schema`),
      strict: optionalFlagAt(strict, `${path}.strict`),
    }),
    ...messagesExtra(rest, { defer_loading }),
  };
}

type WrittenTools = { readonly text: string | undefined; readonly reasons: readonly string[] };

/** The tools as JSON text, and the reasons why some have no form here. */
export const writeTools = memoizeByIdentity(
  (tools: readonly Tool<UpstreamName>[]): WrittenTools => {
    const reasons: string[] = [];
    // The API requires a tool that is not deferred.
    const mayDefer = tools.some((tool) => tool.type !== "function" || tool.loaded !== true);
    const list = tools.flatMap((tool) => {
      const written = writeTool(tool, mayDefer);
      const report = (reason: string): void => void reasons.push(reason);
      if (typeof written === "string") {
        report(written);
        return [];
      }
      if (tool.type !== "builtin") reportForeign(tool.extra, "messages", report);
      return [written];
    });
    return { text: list.length === 0 ? undefined : JSON.stringify(list), reasons };
  },
);

function writeTool(tool: Tool<UpstreamName>, mayDefer: boolean): Fields | string {
  switch (tool.type) {
    case "function": {
      const { name, description, schema, strict, loaded, extra } = tool;
      return {
        name,
        ...given({ description }),
        input_schema: withType(parametersOf(schema)),
        ...(strict === true && { strict }),
        ...(loaded === true && mayDefer && { defer_loading: true }),
        ...ownExtra(extra, "messages"),
      };
    }
    case "builtin":
      return tool.dialect === "messages"
        ? tool.raw
        : `the messages dialect has no ${tool.kind} tool as the ${tool.dialect} dialect has`;
    case "custom":
    case "namespace":
      return `the messages dialect has no ${tool.type} tools`;
    default:
      return tool satisfies never;
  }
}

/** The API requires the type of the root. */
const withType = (schema: Fields | undefined): Fields =>
  schema === undefined
    ? { type: "object", properties: {} }
    : schema.type === undefined
      ? { type: "object", ...schema }
      : schema;
