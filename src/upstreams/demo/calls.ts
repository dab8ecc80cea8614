/** Chooses the tools that the demo calls. */

import { isFields } from "../../json/json.ts";
import { requiredIn } from "../../schema/keywords.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { exampleOf } from "./example.ts";
import { hasValues, isCommand, onOneLine, plainName, stemsOf, valuesIn } from "./words.ts";

/** A tool that can be called, with its namespace. */
export type OfferedTool = {
  readonly tool: FunctionTool<UpstreamName> | CustomTool<UpstreamName>;
  readonly namespace?: string | undefined;
};

export type DemoCall = OfferedTool & { readonly input: string };

export const callableTools = (
  tools: readonly Tool<UpstreamName>[],
  namespace?: string,
): OfferedTool[] =>
  tools.flatMap((tool) => {
    if (tool.type === "namespace") return callableTools(tool.tools, tool.name);
    return tool.type === "builtin" ? [] : [{ tool, namespace }];
  });

const MAX_CALLS = 16;

/** The calls that a text asks for: its commands to a shell, else calls of the tools it names. */
export function callsFor(
  typed: string,
  offered: readonly OfferedTool[],
  must: boolean,
): readonly DemoCall[] {
  const text = onOneLine(typed);
  const commands = commandsIn(typed, offered);
  const shell = commands.length > 0 ? shellIn(text, offered) : undefined;
  if (shell !== undefined) return commands.flatMap((one) => callsOf(shell, `\`${one}\``));
  // Words of a command name no tool.
  if (commands.length > 0 && !must) return [];
  const parts = partsByTool(text, offered);
  const other = fittingTool(text, offered) ?? (must ? offered[0] : undefined);
  if (parts.size === 0 && other !== undefined) parts.set(other, text);
  return [...parts].flatMap(([tool, part]) => callsOf(tool, part)).slice(0, MAX_CALLS);
}

/** Calls of one tool: one for each value of a text if the tool takes one value. */
function callsOf(offered: OfferedTool, text: string): readonly DemoCall[] {
  const { tool, namespace } = offered;
  if (tool.type === "custom")
    return [{ ...offered, input: String(valuesIn(text).parts("input", {})[0]) }];
  const own = stemsOf(`${tool.name} ${namespace ?? ""}`);
  // References point from the root, so the root has to stay where it is.
  const schema = { type: "object", ...(isFields(tool.schema) && tool.schema) };
  const [name = "", property] = onlyProperty(offered, schema) ?? [];
  const values = new Set(property && valuesIn(text, own).parts(name, property));
  const each = [...values].map((one) => new Map([[plainName(name), [one]]]));
  return (each.length > 1 ? each : [undefined]).map((known) => {
    const value = exampleOf(schema, valuesIn(text, own, known));
    return { tool, namespace, input: JSON.stringify(isFields(value) ? value : {}) };
  });
}

const propertiesOf = ({ tool }: OfferedTool): Fields =>
  "schema" in tool && isFields(tool.schema) && isFields(tool.schema.properties)
    ? tool.schema.properties
    : {};

/** The one required property whose values the schema does not list, else the first property. */
function onlyProperty(offered: OfferedTool, schema: Fields): [string, Fields] | undefined {
  const properties = propertiesOf(offered);
  const required = requiredIn(schema);
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const [only, second] = names.flatMap((name): [string, Fields][] => {
    const one = properties[name];
    return isFields(one) && !("enum" in one) && !("const" in one) ? [[name, one]] : [];
  });
  return second === undefined ? only : undefined;
}

const RUN = /\b(?:run|execute)(?: the| this)?(?: shell)?(?: command)?:?\s+`([^`]+)`/gi;

/** The commands that the user asks to run, as in "Run `ls -la`"; the name of a tool is no command. */
export function commandsIn(typed: string, offered: readonly OfferedTool[]): readonly string[] {
  const commands = Array.from(typed.matchAll(RUN), ([, command = ""]) => command.trim());
  const names = new Set<string>(["", ...offered.map(({ tool }) => tool.name)]);
  return [...new Set(commands)].filter((one) => !names.has(one)).slice(0, MAX_CALLS);
}

/** The tool that runs commands: the one that the text names, else one named like a shell, else the first. */
function shellIn(text: string, offered: readonly OfferedTool[]): OfferedTool | undefined {
  const shells = offered.filter((one) => Object.keys(propertiesOf(one)).some(isCommand));
  const [named] = partsByTool(text.replaceAll(/`[^`]*`/g, ""), shells).keys();
  return named ?? shells.find(({ tool }) => /shell|bash|exec/i.test(tool.name)) ?? shells[0];
}

/** The tools that a text names, each with the text up to the name of the next tool. */
function partsByTool(text: string, offered: readonly OfferedTool[]): Map<OfferedTool, string> {
  // A word in the names of two tools names neither.
  const owners = new Map<string, OfferedTool | undefined>();
  for (const one of offered)
    for (const word of stemsOf(one.tool.name)) owners.set(word, owners.has(word) ? undefined : one);
  for (const one of offered) owners.set(one.tool.name.toLowerCase(), one);
  const parts = new Map<OfferedTool, string>();
  let tool: OfferedTool | undefined;
  let before = "";
  for (const word of text.split(/(?<= )/)) {
    const names = [word.toLowerCase().replaceAll(/[^\p{L}\p{N}_-]/gu, ""), ...stemsOf(word)];
    tool = names.map((name) => owners.get(name)).find(Boolean) ?? tool;
    if (tool === undefined) before += word;
    else parts.set(tool, (parts.get(tool) ?? (parts.size === 0 ? before : "")) + word);
  }
  // "In Paris, call this and that": both take the one name.
  for (const [one, part] of parts) if (!hasValues(part)) parts.set(one, text);
  return parts;
}

/** The tool that shares most words with a text; a single tool also takes any name or number. */
function fittingTool(text: string, offered: readonly OfferedTool[]): OfferedTool | undefined {
  const stems = stemsOf(text);
  // Any text shares a word with one of many tools, so there two are needed.
  let most = offered.length > 1 ? 1 : hasValues(text) ? -1 : 0;
  let best: OfferedTool | undefined;
  for (const one of offered) {
    const [sentence = ""] = (one.tool.description ?? "").split(/[.\n]/, 1);
    const words = stemsOf([one.tool.name, sentence, ...Object.keys(propertiesOf(one))].join(" "));
    const shared = [...words].filter((word) => stems.has(word)).length;
    if (shared > most) [best, most] = [one, shared];
  }
  return best;
}
