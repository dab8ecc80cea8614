/** Chooses the tools that the demo calls. */

import { isFields } from "../../json/json.ts";
import { isNumeric, requiredIn, typesIn } from "../../schema/keywords.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, Fields, FunctionTool, Tool } from "../../turn/turn.ts";
import { exampleOf } from "./example.ts";
import {
  isCommand,
  isFreeText,
  onOneLine,
  stemsOf,
  subjectsOf,
  valuesFrom,
  type Subjects,
} from "./words.ts";

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

/**
 * The calls that a text asks for. Each part of the text goes to the tool that it
 * names; a list of things, for a tool that takes one thing, becomes several
 * calls. If the text names no tool, the tool with a fitting description is called.
 */
export function callsFor(
  typed: string,
  offered: readonly OfferedTool[],
  must: boolean,
): readonly DemoCall[] {
  const commands = commandsIn(typed, offered);
  const text = onOneLine(typed);
  const shell = commands.length === 0 ? undefined : shellIn(text, offered);
  const calls =
    shell !== undefined
      ? commands.map((command) => callOf({ tool: shell, about: aboutCommand(command) }))
      : // Words of a command name no tool; without a shell only a call that is forced is made.
        commands.length === 0 || must
        ? callsAbout(text, offered, must)
        : [];
  // The same call twice would bring the same result.
  const unique = new Map(
    calls.map((call) => [JSON.stringify([call.namespace, call.tool.name, call.input]), call]),
  );
  return [...unique.values()];
}

/** Numbers in a command are no values of other parameters. */
const aboutCommand = (command: string): Subjects => ({
  ...subjectsOf(`\`${command}\``),
  numbers: [],
});

type AboutCall = { readonly tool: OfferedTool; readonly about: Subjects };

function callOf({ tool: offered, about }: AboutCall): DemoCall {
  const { tool } = offered;
  if (tool.type === "custom") return { ...offered, input: about.quoted[0] ?? about.text };
  // References point from the root, so the root has to stay where it is.
  const schema = isFields(tool.schema) ? tool.schema : {};
  const value = exampleOf({ type: "object", ...schema }, valuesFrom(about));
  return { ...offered, input: JSON.stringify(isFields(value) ? value : {}) };
}

function callsAbout(text: string, offered: readonly OfferedTool[], must: boolean): DemoCall[] {
  const named = partsByTool(text, offered);
  const fallback = fittingTool(text, offered) ?? (must ? offered[0] : undefined);
  const parts = named.length > 0 || fallback === undefined ? named : [{ tool: fallback, text }];
  const planned = parts.flatMap((part) => {
    // The words of the tool's name are no values.
    const own = stemsOf(`${part.tool.tool.name} ${part.tool.namespace ?? ""}`);
    const about = subjectsOf(part.text.trim(), own);
    if (about.names.length + about.numbers.length > 0) return eachListed(part.tool, about);
    // "Call this and that for Paris": both tools take the one name.
    return eachListed(part.tool, { ...subjectsOf(text, own), text: about.text });
  });
  return planned.slice(0, MAX_CALLS).map(callOf);
}

const RUN = /\b(?:run|execute)(?: the| this)?(?: shell)?(?: command)?:?\s+`([^`]+)`/gi;

/** The commands that the user asks to run, as in "Run `ls -la`"; the name of a tool is no command. */
export const commandsIn = (typed: string, offered: readonly OfferedTool[]): readonly string[] =>
  Array.from(typed.matchAll(RUN), ([, command = ""]) => command.trim())
    .filter((command) => command !== "" && !offered.some(({ tool }) => tool.name === command))
    .slice(0, MAX_CALLS);

const SHELL = /^(?:local_?shell|shell|shell_command|exec_command|bash|run_shell_command)$/i;

/** The tool that runs commands: the one that the text names, else one named like a shell, else the first. */
function shellIn(text: string, offered: readonly OfferedTool[]): OfferedTool | undefined {
  const isShell = ({ tool }: OfferedTool): boolean => SHELL.test(tool.name);
  const shells = offered.filter(
    (one) => isShell(one) || Object.keys(propertiesOf(one)).some(isCommand),
  );
  const [named] = partsByTool(text.replaceAll(/`[^`]*`/g, ""), shells);
  return named?.tool ?? shells.find(isShell) ?? shells[0];
}

type TextPart = { readonly tool: OfferedTool; text: string };

/** Cuts a text into its clauses; one that names no tool belongs to the clause before. */
function partsByTool(text: string, offered: readonly OfferedTool[]): TextPart[] {
  // A word in the names of two tools names neither.
  const owners = new Map<string, OfferedTool | undefined>();
  for (const one of offered)
    for (const word of stemsOf(one.tool.name)) owners.set(word, owners.has(word) ? undefined : one);
  for (const one of offered) owners.set(one.tool.name.toLowerCase(), one);
  const parts: TextPart[] = [];
  let before = "";
  for (const clause of text.split(/(?=[.?!;,] | (?:and|then|also|plus) )/iu)) {
    const tokens = clause.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? [];
    const words = [...tokens, ...stemsOf(clause)];
    const tools = new Set(words.flatMap((word) => owners.get(word) ?? []));
    const last = parts.at(-1);
    if (tools.size > 0) {
      for (const tool of tools) parts.push({ tool, text: before + clause });
      before = "";
    } else if (last === undefined) before += clause;
    else last.text += clause;
  }
  return parts;
}

/** The tool that shares most words with a text; a single tool also takes any name or number. */
function fittingTool(text: string, offered: readonly OfferedTool[]): OfferedTool | undefined {
  const stems = stemsOf(text);
  if (stems.size === 0) return undefined;
  const scored = offered.map((one) => {
    const [sentence = ""] = (one.tool.description ?? "").split(/[.\n]/, 1);
    const words = stemsOf([one.tool.name, sentence, ...Object.keys(propertiesOf(one))].join(" "));
    return { one, score: [...words].filter((word) => stems.has(word)).length };
  });
  const [best] = scored.toSorted((a, b) => b.score - a.score);
  // Any text shares a word with one of many tools, so there two are needed.
  if (offered.length > 1 || best === undefined)
    return best && best.score > 1 ? best.one : undefined;
  // Scripts without capitals do not show which word is a name.
  const isNamed = /["“`\d]|(?<=\S )\p{Lu}|\p{Lo}/u.test(text);
  return best.score > 0 || isNamed || best.one.tool.type === "custom" ? best.one : undefined;
}

function propertiesOf({ tool }: OfferedTool): Fields {
  const schema = "schema" in tool && isFields(tool.schema) ? tool.schema : {};
  return isFields(schema.properties) ? schema.properties : {};
}

/** One call for each thing listed, where the tool takes one thing at a time. */
function eachListed(tool: OfferedTool, about: Subjects): readonly AboutCall[] {
  const type = onlyType(tool);
  if (type === "string" && about.isList)
    return about.names.map((name) => ({ tool, about: { ...about, names: [name] } }));
  if (isNumeric(type) && about.numbers.length > 1)
    return about.numbers.map((one) => ({ tool, about: { ...about, numbers: [one] } }));
  return [{ tool, about }];
}

/** The type of the one required parameter; undefined if there are more, or if it takes sentences. */
function onlyType(offered: OfferedTool): string | undefined {
  const { tool } = offered;
  const properties = propertiesOf(offered);
  const required = "schema" in tool && isFields(tool.schema) ? requiredIn(tool.schema) : [];
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const [only, second] = names.flatMap((name) => {
    const schema = properties[name];
    return isFields(schema) && !("enum" in schema) && !("const" in schema) ? { name, schema } : [];
  });
  if (only === undefined || second !== undefined || isFreeText(only.name)) return undefined;
  return typesIn(only.schema)[0];
}
