/** Writes sections and calls in the form of a strategy, and reads calls back. */

import { nearest } from "../diagnostics/nearest.ts";
import { toolSearch } from "../dialects/registry.ts";
import { jsonOf, isFields } from "../json/json.ts";
import { membersOf } from "../json/scan.ts";
import { errorsIn } from "../schema/check.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import { clientName } from "../turn/names.ts";
import type {
  Call,
  Callable,
  FunctionTool,
  Item,
  NamespaceTool,
  Result,
  Tool as TurnTool,
} from "../turn/turn.ts";
import {
  type Catalog,
  closedIn,
  type Node,
  type OpenedReading,
  type Reading,
  readCatalog,
  render,
  type State,
  stateOf,
  type View,
  type Scope,
} from "./catalog.ts";
import { headOverridesIn, type ItemAdded, overridesIn, threadStart } from "./session.ts";
import type { Strategy } from "./strategy.ts";
import type { Tool } from "./tool.ts";

/** Everything that decides the request to a model. */
export type Disclosure = {
  readonly catalog: Catalog;
  readonly scope: Scope;
  readonly strategy: Strategy;
  readonly names: LoaderNames;
  /** Tools outside all sections, which are always declared. */
  readonly base: readonly Tool[];
  /** Tools that the request forces. They are declared, because no loader can be forced to call them. */
  readonly direct: ReadonlySet<string>;
  /** Sections can still be opened. The loader is withdrawn after too many rounds of readings. */
  readonly loads: boolean;
  /** Longest description of a tool, in characters. */
  readonly maxDescription: number;
};

/** The request to a model, without the conversation. */
export type Lowered = {
  readonly prompt: string;
  /** The list of sections, if the description of the loader has no room for it; the prompt begins with it. */
  readonly catalogue?: string | undefined;
  readonly tools: readonly TurnTool[];
  /** The names of the tools that are declared as functions. */
  readonly declared: ReadonlySet<string>;
  /** Tools that were omitted because another tool has their name. */
  readonly skipped: readonly Tool[];
};

export const currentState = ({ scope, strategy }: Disclosure): State =>
  stateOf(scope, scope.session.overrides, strategy === "eager");

/** The name of the tool that reads sections. */
const loaderOf = ({ strategy, names }: Disclosure): string =>
  strategy === "native" ? "tool_search" : names.read;

/** Writes the prompt and the tools. The same log gives the same bytes. */
export function lower(disclosure: Disclosure): Lowered {
  const { catalog, names, scope, strategy, loads, maxDescription } = disclosure;
  // The prompt shows the state at the start of the conversation.
  const head = stateOf(scope, headOverridesIn(scope.session.events), strategy === "eager");
  const view = render(catalog, head, loaderOf(disclosure));
  const keys = closedIn(catalog, head).map(({ path }) => path);
  const { description, list } = describeReader(catalogLines(catalog, head), maxDescription);
  const { first, later, skipped } = directTools(disclosure, head, view);
  const reader = readerTool(strategy === "native" ? undefined : names.read, description, keys);
  const isClosable = keys.length > 0;
  const catalogue = isClosable ? list : undefined;
  return {
    prompt: catalogue === undefined ? view.text : `${catalogue}\n\n${view.text}`,
    catalogue,
    tools: [
      ...first.map(declarationOf),
      ...(isClosable && loads ? [reader] : []),
      ...(isClosable && strategy === "wrap" ? [callTool(names)] : []),
      ...later.map(declarationOf),
    ],
    declared: new Set([...first, ...later].map(({ name }) => name)),
    skipped,
  };
}

/** The tools that are declared: `first` at the head of the list, `later` in the order of their opening. */
function directTools(disclosure: Disclosure, head: State, view: View) {
  const { catalog, base, direct } = disclosure;
  const skipped: Tool[] = [];
  const taken = new Set<string>();
  const admit = (tool: Tool): boolean => {
    const isFree = !taken.has(tool.name);
    if (isFree) taken.add(tool.name);
    else skipped.push(tool);
    return isFree;
  };
  const isOwnedIn = ({ name }: Tool, holds: State["exists"]): boolean => {
    const owner = catalog.owners.get(name);
    return owner !== undefined && holds(owner);
  };
  const forced = [...catalog.tools.values()].filter(
    (tool) => direct.has(tool.name) && isOwnedIn(tool, head.exists),
  );
  // The caller can close a section that was open at the start.
  const now = currentState(disclosure);
  const open = view.tools.filter((tool) => isOwnedIn(tool, now.isReached));
  const first = new Set([...new Set([...base, ...open, ...forced])].filter(admit));
  const later = openedSince(disclosure, now).filter((tool) => !first.has(tool));
  return { first: [...first], later: later.filter(admit), skipped };
}

/** The tools to list that are open now and were not at the start, in the order of their opening. */
function openedSince(disclosure: Disclosure, now: State): readonly Tool[] {
  const { catalog, scope, strategy, loads } = disclosure;
  if (strategy === "eager" || strategy === "wrap") return [];
  const { events } = scope.session;
  const loader = loaderOf(disclosure);
  const seen = new Set<Tool>();
  const start = threadStart(events);
  const overrides = new Map(overridesIn(events.slice(0, start + 1)));
  const state = stateOf(scope, overrides);
  for (const event of events.slice(start + 1)) {
    if (event.type !== "visibility-set" || overrides.get(event.path) === event.visibility) continue;
    overrides.set(event.path, event.visibility);
    // Under `native` the result of a search brings the tools; a call of a closed tool has no such result.
    if (strategy === "native" && loads && event.by !== "call") continue;
    const node = catalog.byPath.get(event.path);
    if (node === undefined || !state.isReached(node)) continue;
    for (const tool of render({ roots: [node] }, state, loader).tools) seen.add(tool);
  }
  const open = new Set(render(catalog, now, loader).tools);
  return [...seen].filter((tool) => open.has(tool));
}

/** The declaration of a tool as a function. */
export const declarationOf = ({ name, description, schema, strict }: Tool): FunctionTool => ({
  type: "function",
  name: clientName(name),
  description,
  schema,
  ...(strict !== undefined && { strict }),
});

type ItemForm = Pick<Disclosure, "catalog" | "scope" | "strategy" | "names">;

/** The conversation with readings and calls in the form of the strategy. */
export function lowerItems(
  form: ItemForm,
  declared: ReadonlySet<string>,
  added: readonly Omit<ItemAdded, "type">[],
): readonly Item[] {
  const { catalog, strategy, names, scope } = form;
  const isNative = strategy === "native";
  const readings = new Set<string>();
  const brought = new Set<string>();
  const injected = new Map(
    scope.session.events.flatMap((event) =>
      event.type === "tools-injected" && event.callId !== undefined
        ? [[event.callId, event.toolNames]]
        : [],
    ),
  );
  return added.flatMap(({ item, wrapped, loaded = [] }): readonly Item[] => {
    if (item.type === "call") {
      const isReading = item.kind === "function" && item.name === clientName(names.read);
      if (isReading) readings.add(item.id);
      const search = { kind: "tool_search", name: clientName("tool_search") };
      if (isReading && isNative) return [{ ...item, ...search, extra: toolSearch.call }];
      const owner = declared.has(item.name) ? undefined : catalog.owners.get(item.name);
      if (owner === undefined) return [item];
      if (isNative) return [{ ...item, namespace: namespaceOf(catalog, owner) }];
      if (strategy !== "wrap") return [item];
      const input = wrapped ?? wrapCall(item.name, item.input);
      return [{ ...item, name: clientName(names.call), input }];
    }
    if (item.type !== "result") return [item];
    const isReading = readings.has(item.call);
    const shown = (isReading ? loaded : (injected.get(item.call) ?? [])).filter(
      (name) => !declared.has(name),
    );
    if (!isNative || !isReading) return [withDefinitions(item, shown, form)];
    // Each tool is brought once.
    const fresh = shown.filter((name) => !brought.has(name));
    for (const name of fresh) brought.add(name);
    return bringTools(item, fresh, form);
  });
}

/** Adds the schemas of tools that only `call_tool` can call to a result. */
function withDefinitions(result: Result, shown: readonly string[], form: ItemForm): Result {
  if (form.strategy !== "wrap" || shown.length === 0) return result;
  const tools = shown.flatMap((name) => form.catalog.tools.get(name) ?? []);
  const text = `\n\n${definitionsText(tools, form.names)}`;
  return { ...result, parts: [...result.parts, { type: "text", text }] };
}

/** The result of a search has no place for text, so a message with the section follows it. */
function bringTools(
  result: Result,
  loaded: readonly string[],
  { catalog, names }: ItemForm,
): readonly Item[] {
  const parts = result.parts.map((part) =>
    part.type === "text"
      ? { ...part, text: part.text.replaceAll(`call \`${names.read}\``, "call `tool_search`") }
      : part,
  );
  const found: Result = {
    ...result,
    kind: "tool_search",
    name: undefined,
    parts: [],
    declares: { tools: loadedTools(catalog, loaded) },
    extra: toolSearch.result,
  };
  return [found, { type: "message", role: "developer", parts }];
}

const LONGEST_NAMESPACE = 64;

/** The namespace of each section, for providers that load deferred tools. */
const namespaces = memoizeByIdentity((catalog: Catalog): ReadonlyMap<Node, string> => {
  const taken = new Set<string>();
  return new Map(
    catalog.nodes.map((node) => {
      const plain = node.path.replaceAll(".", "__").slice(0, LONGEST_NAMESPACE);
      let name = plain;
      for (let number = 2; taken.has(name); number++)
        name = `${plain.slice(0, LONGEST_NAMESPACE - 4)}_${number}`;
      taken.add(name);
      return [node, name];
    }),
  );
});

const namespaceOf = (catalog: Catalog, node: Node): string =>
  namespaces(catalog).get(node) ?? node.path;

/** Deferred functions in namespaces, as the result of a search brings them. */
function loadedTools(catalog: Catalog, names: readonly string[]): readonly NamespaceTool[] {
  const known = names.flatMap((name) => catalog.tools.get(name) ?? []);
  const groups = Map.groupBy(known, ({ name }) => catalog.owners.get(name));
  return Array.from(groups).flatMap(([node, tools]) =>
    node === undefined
      ? []
      : {
          type: "namespace",
          name: namespaceOf(catalog, node),
          description: node.section.title,
          tools: tools.map((tool) => ({
            ...declarationOf(tool),
            strict: tool.strict ?? false,
            extra: toolSearch.foundTool,
          })),
        },
  );
}

/** A call of a tool by its own name, however the model made it. */
export type AuthorCall = {
  readonly call: Call;
  /** The model's arguments of `call_tool`. */
  readonly wrapped?: string | undefined;
  /** The error in a call of `call_tool` that names no tool. */
  readonly problem?: string | undefined;
};

/** Undoes the form of the strategy. */
export function authorCall(call: Call, { names }: Pick<Disclosure, "names">): AuthorCall {
  const { namespace: _, ...plain } = call;
  if (call.kind === "tool_search") {
    // The item id belongs to a search, and the call is a function call now.
    const { itemId: __, extra: ___, ...bare } = plain;
    return { call: { ...bare, kind: "function", name: clientName(names.read) } };
  }
  if (call.name !== clientName(names.call)) return { call: plain };
  const inner = unwrapCall(call.input, names);
  if (!inner.ok) return { call: plain, problem: inner.message };
  const { name, input } = inner;
  return { call: { ...plain, name: clientName(name), input }, wrapped: call.input };
}

/** The target of a call. */
export type Resolved =
  | { readonly type: "reading"; readonly reading: Reading }
  /** `reading`: the opening of the tool's section; absent if the section is open. */
  | { readonly type: "tool"; readonly tool: Tool; readonly reading?: OpenedReading | undefined }
  | { readonly type: "unknown"; readonly message: string };

/**
 * Finds the target of a call. Models may call tools of closed sections: closing
 * only shortens the prompt, and `when` decides access.
 */
export function resolveCall(call: Call, disclosure: Disclosure): Resolved {
  const { catalog, names, base } = disclosure;
  const name: string = call.name;
  const state = currentState(disclosure);
  if (name === names.read) {
    const key = keyIn(call.input);
    if (key === undefined)
      return { type: "unknown", message: 'A reading takes {"key": the key of a section}.' };
    return { type: "reading", reading: readCatalog(catalog, key, state, names.read) };
  }
  const outside = base.find((one) => one.name === name);
  if (outside !== undefined) return { type: "tool", tool: outside };
  const tool = catalog.tools.get(name);
  const owner = catalog.owners.get(name);
  if (tool === undefined || owner === undefined || !state.exists(owner)) {
    const there = [...catalog.owners].filter(([, node]) => state.exists(node));
    const known = [...base.map((one) => one.name), ...there.map(([one]) => one)];
    return { type: "unknown", message: unknownTool(name, known) };
  }
  if (state.isReached(owner)) return { type: "tool", tool };
  const reading = readCatalog(catalog, owner.path, state, names.read);
  return { type: "tool", tool, ...(reading.type === "opened" && { reading }) };
}

/** The answer to a call of a tool that does not exist. */
export function unknownTool(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  const unknown = `There is no tool \`${name.slice(0, 200)}\`.`;
  return near === undefined ? unknown : `${unknown} Did you mean \`${near}\`?`;
}

/** The error in arguments by the JSON Schema of their tool; undefined if they are valid. */
export function violationOf({ schema }: Pick<Tool, "schema">, input: string): string | undefined {
  const value = argumentsOf(input);
  if (value === undefined) return "The arguments are not JSON.";
  const error = errorsIn(value, schema, input.length)?.at(-1);
  return error && `At \`${error.instanceLocation}\`: ${error.error}`;
}

/** The parsed arguments; an empty text is an empty object. */
export const argumentsOf = (input: string): unknown => (input.trim() === "" ? {} : jsonOf(input));

/** The answer to invalid arguments: the error and the schema. */
export const violationText = (tool: Tool, problem: string): string =>
  `The arguments of \`${tool.name}\` do not fit. ${problem}\nIts arguments: ${JSON.stringify(tool.schema)}`;

export type LoaderNames = { readonly read: string; readonly call: string };

export const LOADERS: LoaderNames = { read: "read_section", call: "call_tool" };

/** Names for the loaders that no other tool has. */
export function loaderNames(taken: ReadonlySet<string>): LoaderNames {
  const free = (name: string): string => (taken.has(name) ? free(`pb_${name}`) : name);
  return { read: free(LOADERS.read), call: free(LOADERS.call) };
}

/** One line for each closed section, with the names of its tools. The model chooses from them. */
const catalogLines = (catalog: Catalog, head: State): readonly string[] =>
  closedIn(catalog, head).map(({ path, section: { tools = [] } }) =>
    tools.length === 0
      ? `- ${path}`
      : `- ${path} (${tools.length}): ${tools.map(({ name }) => name).join(", ")}`,
  );

const READ = "Read the full content of a summarized section.";
const LISTED = "Sections, with the tools that reading them makes callable:";

type ReaderTexts = { readonly description: string; readonly list?: string | undefined };

/** Description of the tool that reads sections. The list of sections is apart if `most` characters cannot hold both. */
export function describeReader(lines: readonly string[], most: number): ReaderTexts {
  const list = `${LISTED}\n${lines.join("\n")}`;
  const whole = `${READ}\n\n${list}`;
  return whole.length <= most ? { description: whole } : { description: READ, list };
}

/**
 * The tool that opens sections: a function, or for providers that load deferred tools a search that
 * the client runs. The keys do not change during a conversation, so that the declaration stays the same.
 */
function readerTool(
  name: string | undefined,
  description: string,
  keys: readonly string[],
): Callable {
  const key = { type: "string", enum: keys, description: "The key of the section." };
  const schema = {
    type: "object",
    properties: { key },
    required: ["key"],
    additionalProperties: false,
  };
  return name === undefined
    ? toolSearch.declaration(description, schema)
    : { type: "function", name: clientName(name), description, schema };
}

/** Calls all other tools if the list of tools cannot change. */
const callTool = ({ read, call }: LoaderNames): FunctionTool => ({
  type: "function",
  name: clientName(call),
  description: `Call a tool of a section. \`${read}\` tells which tools a section has and what arguments they take.`,
  schema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name of the tool." },
      arguments: {
        type: "object",
        description: "The arguments of the tool, as its schema asks.",
        additionalProperties: true,
      },
    },
    required: ["name", "arguments"],
    additionalProperties: false,
  },
});

/** The definitions of tools as text, for models that call them through `call_tool`. */
const definitionsText = (tools: readonly Tool[], { call }: LoaderNames): string =>
  [
    `Tools of this section, to be called with \`${call}\`:`,
    ...tools.map(
      ({ name, description, schema }) =>
        `- \`${name}\`: ${description}\n  arguments: ${JSON.stringify(schema)}`,
    ),
  ].join("\n");

/** The key in the arguments of a reading. */
export function keyIn(input: string): string | undefined {
  const value = jsonOf(input);
  const key = isFields(value) ? (value["key"] ?? value["section_key"]) : value;
  return typeof key === "string" ? key : undefined;
}

type Unwrapped =
  | { readonly ok: true; readonly name: string; readonly input: string }
  | { readonly ok: false; readonly message: string };

/** The call in the arguments of `call_tool`, with its own arguments byte for byte. */
export function unwrapCall(text: string, { call }: LoaderNames): Unwrapped {
  const value = jsonOf(text);
  const form = `\`${call}\` takes {"name": the tool's name, "arguments": {its arguments}}`;
  if (!isFields(value))
    return { ok: false, message: `The arguments are not a JSON object. ${form}.` };
  const { name, arguments: given } = value;
  if (typeof name !== "string" || name === "")
    return { ok: false, message: `No tool is named. ${form}.` };
  if (given === undefined || given === null) return { ok: true, name, input: "{}" };
  if (typeof given === "string") return { ok: true, name, input: given };
  // Parsing and writing the arguments again would round long numbers.
  const span = [...membersOf(text)].findLast(({ key }) => key === "arguments");
  return { ok: true, name, input: span ? text.slice(span.from, span.end) : JSON.stringify(given) };
}

/** The arguments of `call_tool` for a call of a tool. */
export const wrapCall = (name: string, input: string): string => {
  const isObject = isFields(jsonOf(input));
  const given = isObject ? input.trim() : JSON.stringify(input.trim() === "" ? {} : input);
  return `{"name":${JSON.stringify(name)},"arguments":${given}}`;
};
