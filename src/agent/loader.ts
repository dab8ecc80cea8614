/** The tools that open sections and call their tools. */

import { toolSearch } from "../dialects/registry.ts";
import { isFields, jsonOf } from "../json/json.ts";
import { memberAt } from "../json/scan.ts";
import { clientName } from "../turn/names.ts";
import type { Callable, FunctionTool } from "../turn/turn.ts";
import { type Catalog, closedIn, type State } from "./catalog.ts";
import type { Tool } from "./tool.ts";

export type LoaderNames = { readonly read: string; readonly call: string };

export const LOADERS: LoaderNames = { read: "read_section", call: "call_tool" };

/** Names for the loaders that no other tool has. */
export function loaderNames(taken: ReadonlySet<string>): LoaderNames {
  const free = (name: string): string => (taken.has(name) ? free(`pb_${name}`) : name);
  return { read: free(LOADERS.read), call: free(LOADERS.call) };
}

/** One line for each closed section, with the names of its tools. The model chooses from them. */
export const catalogLines = (catalog: Catalog, head: State): readonly string[] =>
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
export function readerTool(
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
export const callTool = ({ read, call }: LoaderNames): FunctionTool => ({
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
export const definitionsText = (tools: readonly Tool[], { call }: LoaderNames): string =>
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
  const span = memberAt(text, 0, "arguments");
  return { ok: true, name, input: span ? text.slice(span.from, span.end) : JSON.stringify(given) };
}

/** The arguments of `call_tool` for a call of a tool. */
export const wrapCall = (name: string, input: string): string => {
  const isObject = isFields(jsonOf(input));
  const given = isObject ? input.trim() : JSON.stringify(input.trim() === "" ? {} : input);
  return `{"name":${JSON.stringify(name)},"arguments":${given}}`;
};
