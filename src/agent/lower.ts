import { foundByClient, loadedLater, searchedByClient } from "../dialects/responses/tool-search.ts";
import { clientName } from "../turn/names.ts";
import type {
  Call,
  FunctionTool,
  Item,
  Message,
  NamespaceTool,
  Result,
  Tool as TurnTool,
} from "../turn/turn.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import { nearest } from "../diagnostics/nearest.ts";
import { errorsIn } from "../schema/check.ts";
import { jsonOf } from "../json/json.ts";
import {
  type Catalog,
  closedIn,
  type Node,
  type OpenedReading,
  type Reading,
  readSection,
  render,
  type State,
  stateOf,
  type View,
} from "./catalog.ts";
import {
  callTool,
  catalogLines,
  catalogText,
  definitionsText,
  keyIn,
  type LoaderNames,
  readDescription,
  readTool,
  searchTool,
  unwrapCall,
  wrapCall,
} from "./loader.ts";
import type { Scope } from "./section.ts";
import { headOverridesIn, type ItemAdded, overridesIn, type VisibilitySet } from "./session.ts";
import type { Strategy } from "./strategy.ts";
import type { Tool } from "./tool.ts";

/** A call in the author's words: whatever way it came, it is of a tool by its own name. */
export type AuthorCall = {
  readonly call: Call;
  /** What the model wrote, where the call came through `call_tool`. */
  readonly wrapped?: string | undefined;
  /** Why it is no call of anything. */
  readonly problem?: string | undefined;
};

/** Undoes what the strategy did to calls. */
export function authorCall(call: Call, { names }: Pick<Disclosure, "names">): AuthorCall {
  const { namespace: _, ...plain } = call;
  if (call.kind === "tool_search") {
    // The id of the item is one of a search, which it no longer is.
    const { itemId: __, extra: ___, ...bare } = plain;
    return { call: { ...bare, kind: "function", name: clientName(names.read) } };
  }
  if (call.name !== clientName(names.call)) return { call: plain };
  const inner = unwrapCall(call.input, names);
  if (!inner.ok) return { call: plain, problem: inner.message };
  const { name, input } = inner;
  return { call: { ...plain, name: clientName(name), input }, wrapped: call.input };
}

/** What a call asks for. */
export type Resolved =
  | { readonly type: "reading"; readonly reading: Reading }
  /** `reading`: what the call opens on its way, as if the tool's section had been read; absent if the tool is open. */
  | { readonly type: "tool"; readonly tool: Tool; readonly reading?: OpenedReading | undefined }
  | { readonly type: "unknown"; readonly message: string };

/**
 * Finds what a call is of. A tool of a closed section can be called all the
 * same: closing saves room in the prompt, and only `when` says who may call.
 */
export function resolveCall(call: Call, disclosure: Disclosure): Resolved {
  const { catalog, names, base } = disclosure;
  const state = currentState(disclosure);
  if (call.name === clientName(names.read)) {
    const key = keyIn(call.input);
    if (key === undefined)
      return { type: "unknown", message: 'A reading takes {"key": the key of a section}.' };
    return { type: "reading", reading: readSection(catalog, key, state, names.read) };
  }
  const outside = base.find(({ name }) => name === (call.name as string));
  if (outside !== undefined) return { type: "tool", tool: outside };
  const tool = catalog.tools.get(call.name);
  const owner = catalog.owners.get(call.name);
  if (tool === undefined || owner === undefined || !state.exists(owner))
    return { type: "unknown", message: unknownTool(call.name, disclosure) };
  if (state.isReached(owner)) return { type: "tool", tool };
  const reading = readSection(catalog, owner.path, state, names.read);
  return { type: "tool", tool, ...(reading.type === "opened" && { reading }) };
}

function unknownTool(name: string, disclosure: Disclosure): string {
  const { catalog, base } = disclosure;
  const state = currentState(disclosure);
  const there = [...catalog.owners].filter(([, owner]) => state.exists(owner));
  const known = [...base.map((tool) => tool.name), ...there.map(([tool]) => tool)];
  const near = nearest(name, known);
  const said = `There is no tool \`${name.slice(0, 200)}\`.`;
  return near === undefined ? said : `${said} Did you mean \`${near}\`?`;
}

/** What is wrong with arguments by the JSON Schema of their tool; undefined if nothing is. */
export function violationOf({ schema }: Pick<Tool, "schema">, input: string): string | undefined {
  const value = argumentsOf(input);
  if (value === undefined) return "The arguments are not JSON.";
  const errors = errorsIn(value, schema, input.length) ?? [];
  const [error] = errors.toReversed();
  return error && `At \`${error.instanceLocation}\`: ${error.error}`;
}

/** Arguments as a value; a call without any has an empty object. */
export const argumentsOf = (input: string): unknown => (input.trim() === "" ? {} : jsonOf(input));

/** What a model is told of arguments that will not do: the problem, and the schema to go by. */
export const violationText = (tool: Tool, problem: string): string =>
  `The arguments of \`${tool.name}\` do not fit. ${problem}\nIts arguments: ${JSON.stringify(tool.schema)}`;

/** What a model is told of the section that it asked for. What it needs to call the tools, the strategy adds. */
export function readingText(reading: Reading): string {
  if (reading.type === "unknown") return reading.message;
  return `${leadOf(reading)}\n\n${reading.result.content}`;
}

/** First line of the result of a reading. */
export const leadOf = ({ type, path }: Exclude<Reading, { type: "unknown" }>): string =>
  type === "already" ? "Section is already expanded." : `Content of section '${path}':`;

/** All that decides what a model is sent. Who runs the tools is no part of it. */
export type Disclosure = {
  readonly catalog: Catalog;
  readonly scope: Scope;
  readonly strategy: Strategy;
  readonly names: LoaderNames;
  /** Tools outside all sections: always declared. */
  readonly base: readonly Tool[];
  /** Tools that a request forces: declared by themselves, since no loader can be forced to call them. */
  readonly direct: ReadonlySet<string>;
  /** Whether sections can still be opened; not once a model has opened and opened and said nothing. */
  readonly loads: boolean;
  /** How long the description of a tool may be. */
  readonly maxDescription: number;
};

/** What a model is sent beside the conversation. */
export type Lowered = {
  readonly prompt: string;
  readonly tools: readonly TurnTool[];
  /** The names of the tools that are declared as they are. */
  readonly declared: ReadonlySet<string>;
  /** Tools that were left out because another has their name. */
  readonly skipped: readonly Tool[];
};

/** The state when the conversation began: the prompt is written from it. */
const headState = ({ scope, strategy }: Disclosure): State =>
  stateOf(scope, headOverridesIn(scope.session.events), strategy === "eager");

/** The state now. */
export const currentState = ({ scope, strategy }: Disclosure): State =>
  stateOf(scope, scope.session.overrides, strategy === "eager");

/** How the model is to call what reads sections. */
const loaderOf = ({ strategy, names }: Pick<Disclosure, "strategy" | "names">): string =>
  strategy === "native" ? "tool_search" : names.read;

/** The prompt and the tools to send. The same for the same log, byte for byte. */
export function lower(disclosure: Disclosure): Lowered {
  const { catalog, names, strategy, loads, maxDescription } = disclosure;
  const head = headState(disclosure);
  const view = render(catalog, head, loaderOf(disclosure));
  const keys = closedIn(catalog, head).map(({ path }) => path);
  const lines = keys.length === 0 ? [] : catalogLines(catalog, head);
  const description = readDescription(lines, maxDescription);
  const { tools, later, skipped } = directTools(disclosure, view);
  const declared = new Set([...tools, ...later].map(({ name }) => name));
  const reader =
    strategy === "native" ? searchTool(description, keys) : readTool(names.read, description, keys);
  const isClosable = keys.length > 0;
  const isListed = lines.length === 0 || description.endsWith(catalogText(lines));
  return {
    prompt: isListed ? view.text : `${catalogText(lines)}\n\n${view.text}`,
    tools: [
      ...tools.map(declarationOf),
      ...(isClosable && loads ? [reader] : []),
      ...(isClosable && strategy === "wrap" ? [callTool(names)] : []),
      ...later.map(declarationOf),
    ],
    declared,
    skipped,
  };
}

type Direct = {
  /** Those at the head of the list, which does not change. */
  readonly tools: readonly Tool[];
  /** Those that were opened since, in the order of their opening. */
  readonly later: readonly Tool[];
  readonly skipped: readonly Tool[];
};

function directTools(disclosure: Disclosure, head: View): Direct {
  const { catalog, base, direct } = disclosure;
  const skipped: Tool[] = [];
  const taken = new Set<string>();
  const admit = (tool: Tool): boolean => {
    if (!taken.has(tool.name)) return taken.add(tool.name).size > 0;
    skipped.push(tool);
    return false;
  };
  const state = headState(disclosure);
  const forced = [...catalog.tools.values()].filter((tool) => {
    const owner = catalog.owners.get(tool.name);
    return direct.has(tool.name) && owner !== undefined && state.exists(owner);
  });
  // A caller may close in mid-conversation what was open when it began.
  const now = currentState(disclosure);
  const isStillOpen = ({ name }: Tool): boolean => {
    const owner = catalog.owners.get(name);
    return owner !== undefined && now.isReached(owner);
  };
  const open = head.tools.filter(isStillOpen);
  const first = new Set([...new Set([...base, ...open, ...forced])].filter(admit));
  const later = openedSince(disclosure).filter((tool) => !first.has(tool));
  return { tools: [...first], later: later.filter(admit), skipped };
}

/**
 * Whether an opening makes the list of tools grow. Under `native` the result of
 * a search brings the tools, but the call of a closed tool has no such result.
 */
function isListed({ strategy, loads }: Disclosure, { by }: VisibilitySet): boolean {
  if (strategy === "native") return !loads || by === "call";
  return strategy === "append" || strategy === "restart";
}

/** The tools to list that are open now and were not when the conversation began, in the order of their opening. */
function openedSince(disclosure: Disclosure): readonly Tool[] {
  const { catalog, scope, strategy } = disclosure;
  if (strategy === "eager" || strategy === "wrap") return [];
  const { events } = scope.session;
  const loader = loaderOf(disclosure);
  const seen = new Set<Tool>();
  const start = events.findLastIndex(({ type }) => type === "thread-started");
  const overrides = new Map(overridesIn(events.slice(0, start + 1)));
  const state = stateOf(scope, overrides);
  for (const event of events.slice(start + 1)) {
    if (event.type !== "visibility-set" || overrides.get(event.path) === event.visibility) continue;
    overrides.set(event.path, event.visibility);
    const node = catalog.byPath.get(event.path);
    if (node === undefined || !state.isReached(node) || !isListed(disclosure, event)) continue;
    // It changes nothing but what is below.
    for (const tool of render({ roots: [node] }, state, loader).tools) seen.add(tool);
  }
  const open = new Set(render(catalog, currentState(disclosure), loader).tools);
  return [...seen].filter((tool) => open.has(tool));
}

/** A tool as it is declared by itself. */
export const declarationOf = ({ name, description, schema, strict }: Tool): TurnTool => ({
  type: "function",
  name: clientName(name),
  description,
  schema,
  ...(strict !== undefined && { strict }),
});

/** The conversation as a model is told it: readings and calls in the form of the strategy. */
export function lowerItems(
  disclosure: Disclosure,
  declared: ReadonlySet<string>,
  added: readonly ItemAdded[],
): readonly Item[] {
  const readings = new Set<string>();
  const brought = new Set<string>();
  const injected = injectedByCalls(disclosure);
  return added.flatMap((entry): readonly Item[] => {
    const { item, loaded = [] } = entry;
    if (item.type === "call") {
      if (isReading(item, disclosure)) readings.add(item.id);
      return [lowerCall(item, entry, disclosure, declared)];
    }
    if (item.type !== "result") return [item];
    if (!readings.has(item.call)) {
      const names = injected.get(item.call)?.filter((name) => !declared.has(name)) ?? [];
      return [withDefinitions(item, names, disclosure)];
    }
    // A tool is brought once; one that is declared needs no bringing.
    const fresh = loaded.filter((name) => !brought.has(name) && !declared.has(name));
    for (const name of fresh) brought.add(name);
    const shown =
      disclosure.strategy === "wrap" ? loaded.filter((name) => !declared.has(name)) : fresh;
    return lowerReading(item, shown, disclosure);
  });
}

/** The tools that calls of closed tools opened, by the id of the call. */
const injectedByCalls = ({ scope }: Disclosure): ReadonlyMap<string, readonly string[]> =>
  new Map(
    scope.session.events.flatMap((event) =>
      event.type === "tools-injected" && event.callId !== undefined
        ? [[event.callId, event.toolNames]]
        : [],
    ),
  );

const isReading = (call: Call, { names }: Disclosure): boolean =>
  call.kind === "function" && call.name === clientName(names.read);

function lowerCall(
  call: Call,
  { wrapped }: ItemAdded,
  disclosure: Disclosure,
  declared: ReadonlySet<string>,
): Call {
  const { strategy, names, catalog } = disclosure;
  if (strategy === "native") {
    if (isReading(call, disclosure))
      return {
        ...call,
        kind: "tool_search",
        name: clientName("tool_search"),
        extra: searchedByClient,
      };
    const owner = declared.has(call.name) ? undefined : catalog.owners.get(call.name);
    return owner === undefined ? call : { ...call, namespace: namespaceOf(catalog, owner) };
  }
  const goesThrough =
    strategy === "wrap" && catalog.tools.has(call.name) && !declared.has(call.name);
  if (!goesThrough) return call;
  const input = wrapped ?? wrapCall(call.name, call.input);
  return { ...call, name: clientName(names.call), input };
}

/** The result of a reading with what a model needs to call the tools that it made callable. */
function lowerReading(
  result: Result,
  names: readonly string[],
  disclosure: Disclosure,
): readonly Item[] {
  return disclosure.strategy === "native"
    ? bringTools(result, names, disclosure)
    : [withDefinitions(result, names, disclosure)];
}

/** A result followed by the schemas of tools that only `call_tool` can call. */
function withDefinitions(
  result: Result,
  names: readonly string[],
  { catalog, strategy, names: loaders }: Disclosure,
): Result {
  if (strategy !== "wrap" || names.length === 0) return result;
  const tools = names.flatMap((name) => catalog.tools.get(name) ?? []);
  const text = `\n\n${definitionsText(tools, loaders)}`;
  return { ...result, parts: [...result.parts, { type: "text", text }] };
}

/** A result that brings tools has no room for text, so the text of the section follows it. */
function bringTools(
  result: Result,
  loaded: readonly string[],
  disclosure: Disclosure,
): readonly [Result, Message] {
  const { catalog, names } = disclosure;
  const tools = loadedTools(catalog, loaded);
  const parts = result.parts.map((part) =>
    part.type === "text"
      ? { ...part, text: part.text.replaceAll(`call \`${names.read}\``, "call `tool_search`") }
      : part,
  );
  return [
    {
      ...result,
      kind: "tool_search",
      name: undefined,
      parts: [],
      declares: { tools },
      extra: foundByClient,
    },
    { type: "message", role: "developer", parts },
  ];
}

/** A section with tools is a namespace to providers that load tools by themselves. */
const LONGEST = 64;

const namespaces = memoizeByIdentity((catalog: Catalog): ReadonlyMap<Node, string> => {
  const names = new Map<Node, string>();
  const taken = new Set<string>();
  for (const node of catalog.nodes) {
    const plain = node.path.replaceAll(".", "__").slice(0, LONGEST);
    let name = plain;
    for (let number = 2; taken.has(name); number++)
      name = `${plain.slice(0, LONGEST - 4)}_${number}`;
    taken.add(name);
    names.set(node, name);
  }
  return names;
});

const namespaceOf = (catalog: Catalog, node: Node): string =>
  namespaces(catalog).get(node) ?? node.path;

/** Tools as the result of a search brings them: namespaces with deferred functions. */
function loadedTools(catalog: Catalog, names: readonly string[]): readonly NamespaceTool[] {
  const groups = new Map<Node, FunctionTool[]>();
  for (const name of names) {
    const tool = catalog.tools.get(name);
    const owner = catalog.owners.get(name);
    if (tool === undefined || owner === undefined) continue;
    const { description, schema, strict = false } = tool;
    const members = groups.get(owner) ?? [];
    members.push({
      type: "function",
      name: clientName(name),
      description,
      schema,
      strict,
      extra: loadedLater,
    });
    groups.set(owner, members);
  }
  return [...groups].map(([node, tools]) => ({
    type: "namespace",
    name: namespaceOf(catalog, node),
    description: node.section.title,
    tools,
  }));
}
