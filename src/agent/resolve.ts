import { nearest } from "../diagnostics/nearest.ts";
import { errorsIn } from "../schema/check.ts";
import { jsonOf } from "../json/json.ts";
import { clientName } from "../turn/names.ts";
import type { Call } from "../turn/turn.ts";
import { keyIn, unwrapCall } from "./loader.ts";
import { currentState, type Disclosure } from "./lower.ts";
import { readSection, type OpenedReading, type Reading } from "./read.ts";
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
