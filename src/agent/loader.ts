import { clientSearchTool } from "../dialects/responses/tool-search.ts";
import { isFields, jsonOf } from "../json/json.ts";
import { clientName } from "../turn/names.ts";
import type { Callable, Fields, FunctionTool } from "../turn/turn.ts";
import { memberAt } from "../json/scan.ts";
import { type Catalog, closedIn, type State } from "./catalog.ts";
import type { Tool } from "./tool.ts";

/** What the two tools are called that open sections and call what is in them. */
export type LoaderNames = { readonly read: string; readonly call: string };

export const LOADERS: LoaderNames = { read: "read_section", call: "call_tool" };

/** The names of the loaders beside tools that somebody else named. */
export function loaderNames(taken: ReadonlySet<string>): LoaderNames {
  const free = (name: string): string => (taken.has(name) ? free(`pb_${name}`) : name);
  return { read: free(LOADERS.read), call: free(LOADERS.call) };
}

/** A line for each section that can be opened, with the names of its tools: what a model chooses from. */
export function catalogLines(catalog: Catalog, head: State): readonly string[] {
  return closedIn(catalog, head).map(({ path, section: { tools = [] } }) => {
    if (tools.length === 0) return `- ${path}`;
    return `- ${path} (${tools.length}): ${tools.map(({ name }) => name).join(", ")}`;
  });
}

const READ = "Read the full content of a summarized section.";
const LISTED = "Sections, with the tools that reading them makes callable:";

/** The list as it stands in the prompt, where a description has no room for it. */
export const catalogText = (lines: readonly string[]): string => `${LISTED}\n${lines.join("\n")}`;

/** What the tool that reads sections says of itself; with the catalogue if it may be that long. */
export function readDescription(lines: readonly string[], most: number): string {
  const whole = `${READ}\n\n${catalogText(lines)}`;
  return whole.length <= most ? whole : READ;
}

/** The one parameter of a reading. The keys do not change while a conversation lasts. */
const readSchema = (keys: readonly string[]): Fields => ({
  type: "object",
  properties: {
    key: { type: "string", enum: keys, description: "The key of the section." },
  },
  required: ["key"],
  additionalProperties: false,
});

export const readTool = (
  name: string,
  description: string,
  keys: readonly string[],
): FunctionTool => ({
  type: "function",
  name: clientName(name),
  description,
  schema: readSchema(keys),
});

/** The tool through which all others are called where the list of tools cannot change. */
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

/** The same loader in the form of providers that load deferred tools: a search that the client runs. */
export const searchTool = (description: string, keys: readonly string[]): Callable =>
  clientSearchTool(description, readSchema(keys));

/** The key that a reading asks for; undefined where it names none. */
export function keyIn(input: string): string | undefined {
  const value = jsonOf(input);
  if (typeof value === "string") return value;
  if (!isFields(value)) return undefined;
  const key = value["key"] ?? value["section_key"];
  return typeof key === "string" ? key : undefined;
}

type Unwrapped =
  | { readonly ok: true; readonly name: string; readonly input: string }
  | { readonly ok: false; readonly message: string };

/** The call within a call of `call_tool`. Arguments are given back as the model wrote them. */
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
  return { ok: true, name, input: memberText(text, "arguments") ?? JSON.stringify(given) };
}

/** The reverse: a call of a tool as one of `call_tool`. */
export const wrapCall = (name: string, input: string): string => {
  const isObject = isFields(jsonOf(input));
  const given = isObject ? input.trim() : JSON.stringify(input.trim() === "" ? {} : input);
  return `{"name":${JSON.stringify(name)},"arguments":${given}}`;
};

/**
 * The text of one member of a JSON object, as it stands there: parsing and
 * writing it again would round long numbers. Undefined where the object has no
 * such member. The text must be JSON.
 */
function memberText(json: string, wanted: string): string | undefined {
  const span = memberAt(json, 0, wanted);
  return span && json.slice(span.from, span.end);
}
