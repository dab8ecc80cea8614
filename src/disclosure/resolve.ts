import { nearest } from "../diagnostics/nearest.ts";
import { errorsIn } from "../schema/check.ts";
import { jsonOf } from "../turn/json.ts";
import { clientName } from "../turn/names.ts";
import type { Call } from "../turn/turn.ts";
import { lineage } from "./catalog.ts";
import { keyIn, unwrapCall } from "./loader.ts";
import { currentState, type Disclosure } from "./lower.ts";
import { readSection, type Reading } from "./read.ts";
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
  /** `opens`: the sections that have to be opened for it, from the root on; none if the tool is open. */
  | { readonly type: "tool"; readonly tool: Tool; readonly opens: readonly string[] }
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
  if (outside !== undefined) return { type: "tool", tool: outside, opens: [] };
  const tool = catalog.tools.get(call.name);
  const owner = catalog.owners.get(call.name);
  if (tool === undefined || owner === undefined || !state.exists(owner))
    return { type: "unknown", message: unknownTool(call.name, disclosure) };
  const closed = lineage(owner).filter((node) => !state.isOpen(node));
  return { type: "tool", tool, opens: closed.map(({ path }) => path) };
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
  const { path, result } = reading;
  const lead =
    reading.type === "already" ? "Section is already expanded." : `Content of section '${path}':`;
  return `${lead}\n\n${result.content}`;
}
