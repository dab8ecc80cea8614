/** Chooses the tools that the demo calls. */

import { requiredIn, typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, FunctionTool, Tool } from "../../turn/turn.ts";
import { isCommand, isFreeText } from "./values.ts";
import { stemsOf, subjectsOf, type Subjects } from "./words.ts";

/** A tool that can be called, with the namespace it stands in. */
export type Callable = {
  readonly tool: FunctionTool<UpstreamName> | CustomTool<UpstreamName>;
  readonly namespace?: string | undefined;
};

/** A call to be made, and the words that its arguments are drawn from, or the command to run. */
export type PlannedCall = { readonly callable: Callable } & (
  | { readonly about: Subjects }
  | { readonly command: string }
);

export const callables = (tools: readonly Tool<UpstreamName>[], namespace?: string): Callable[] =>
  tools.flatMap((tool) => {
    if (tool.type === "namespace") return callables(tool.tools, tool.name);
    return tool.type === "builtin" ? [] : [{ tool, namespace }];
  });

const MAX_CALLS = 16;

/**
 * The calls that a text asks for. Each part of it goes to the tool that it
 * names; a list of things, for a tool that takes one thing, becomes several
 * calls. Where no tool is named, the one whose description fits is taken.
 */
export function callsFor(
  typed: string,
  offered: readonly Callable[],
  must: boolean,
): readonly PlannedCall[] {
  const commands = commandsIn(typed, offered);
  const text = typed.replaceAll(/\s+/g, " ").trim();
  if (commands.length === 0) return callsAbout(text, offered, must);
  const shell = shellIn(text, offered);
  if (shell !== undefined)
    return commands.map((command) => ({ callable: shell, command })).slice(0, MAX_CALLS);
  // Words of a command name no tool; without a shell only a call that is forced is made.
  return must ? callsAbout(text, offered, must) : [];
}

function callsAbout(text: string, offered: readonly Callable[], must: boolean): AboutCall[] {
  const named = partsByTool(text, offered);
  const fallback = named.length > 0 ? undefined : (fitting(text, offered) ?? (must && offered[0]));
  const parts = fallback ? [{ callable: fallback, from: 0, to: text.length }] : named;
  const planned = parts.map(({ callable, from, to }) => {
    const own = stemsOf(`${callable.tool.name} ${callable.namespace ?? ""}`);
    return { callable, own, about: subjectsOf(text.slice(from, to).trim(), own) };
  });
  const served = new Set(planned.filter(({ about }) => !isBare(about)).map((one) => one.callable));
  return planned
    .flatMap(({ callable, own, about }) => {
      if (!isBare(about)) return oneForEach(callable, about);
      // "Call this and that for Paris": what is named once is meant for both.
      if (served.has(callable)) return [];
      return oneForEach(callable, { ...subjectsOf(text, own), text: about.text });
    })
    .slice(0, MAX_CALLS);
}

const RUN = /\b(?:run|execute)(?: the| this)?(?: shell)?(?: command)?:?\s+`([^`]+)`/gi;

/** The commands that the user asks to run, as in "Run `ls -la`"; the name of a tool is none. */
export const commandsIn = (typed: string, offered: readonly Callable[]): readonly string[] =>
  Array.from(typed.matchAll(RUN), ([, command = ""]) => command.trim()).filter(
    (command) => command !== "" && !offered.some(({ tool }) => tool.name === command),
  );

const SHELL = /^(?:local_?shell|shell|shell_command|exec_command|bash|run_shell_command)$/i;

/** The tool that runs commands: the one that the text names, else one named like a shell, else the first. */
function shellIn(text: string, offered: readonly Callable[]): Callable | undefined {
  const able = offered.filter(runsCommands);
  const [named] = partsByTool(text.replaceAll(/`[^`]*`/g, ""), able);
  return named?.callable ?? able.find(({ tool }) => SHELL.test(tool.name)) ?? able[0];
}

function runsCommands({ tool }: Callable): boolean {
  if (tool.type === "custom") return SHELL.test(tool.name);
  const properties = Object.entries(propertiesOf(tool));
  return (
    properties.some(([name, schema]) => isCommand(name) && takesCommand(schema)) ||
    (SHELL.test(tool.name) && properties.length === 0)
  );
}

/** A text or a list; a schema that does not say may be given either. */
const takesCommand = (schema: unknown): boolean => {
  const types = isFields(schema) ? typesIn(schema) : [];
  return types.length === 0 || types.includes("string") || types.includes("array");
};

const isBare = ({ names, numbers }: Subjects): boolean => names.length + numbers.length === 0;

type TextPart = { readonly callable: Callable; readonly from: number; to: number };

/** Cuts a text before each tool that it names, at the end of the sentence or clause before. */
function partsByTool(text: string, offered: readonly Callable[]): TextPart[] {
  const owners = ownersOf(offered);
  const parts: TextPart[] = [];
  let mentionEnd = 0;
  for (const { 0: token, index } of text.matchAll(/[\p{L}\p{N}_-]+/gu)) {
    const words = [token.toLowerCase(), ...stemsOf(token)];
    const callable = words.map((word) => owners.get(word)).find((owner) => owner !== undefined);
    if (callable === undefined) continue;
    const between = text.slice(mentionEnd, index);
    const cuts = [...between.matchAll(/[.?!;,] | (?:and|then|also|plus) /giu)];
    const from = mentionEnd + (cuts.at(-1)?.index ?? between.length);
    const last = parts.at(-1);
    mentionEnd = index + token.length;
    if (last?.callable === callable && cuts.length === 0) continue;
    if (last !== undefined) last.to = from;
    parts.push({ callable, from: last === undefined ? 0 : from, to: text.length });
  }
  return parts;
}

/** Which tool a word names: a word in the names of two tools names neither. */
function ownersOf(offered: readonly Callable[]): ReadonlyMap<string, Callable | undefined> {
  const owners = new Map<string, Callable | undefined>();
  for (const callable of offered)
    for (const word of stemsOf(callable.tool.name))
      owners.set(word, owners.has(word) ? undefined : callable);
  for (const callable of offered) owners.set(callable.tool.name.toLowerCase(), callable);
  return owners;
}

/** The tool that shares most words with a text; a single tool also takes whatever is named. */
function fitting(text: string, offered: readonly Callable[]): Callable | undefined {
  const stems = stemsOf(text);
  const [only] = offered;
  if (stems.size === 0 || only === undefined) return undefined;
  const shared = (callable: Callable): number =>
    [...wordsOf(callable)].filter((word) => stems.has(word)).length;
  const best = offered
    .map((one) => ({ one, score: shared(one) }))
    .reduce((a, b) => (b.score > a.score ? b : a));
  // Among the words of many tools any text finds one, so there two are needed.
  if (offered.length > 1) return best.score > 1 ? best.one : undefined;
  const { quoted, numbers } = subjectsOf(text);
  // Scripts without capitals do not show which word is a name.
  const isNamed = quoted.length + numbers.length > 0 || /(?<=\S )\p{Lu}|\p{Lo}/u.test(text);
  return best.score > 0 || isNamed || only.tool.type === "custom" ? only : undefined;
}

/** What says what a tool does and takes: its name, its parameters, its description's first sentence. */
function wordsOf({ tool }: Callable): ReadonlySet<string> {
  const [sentence = ""] = (tool.description ?? "").split(/[.\n]/, 1);
  const parameters = tool.type === "function" ? Object.keys(propertiesOf(tool)) : [];
  return stemsOf([tool.name, sentence, ...parameters].join(" "));
}

const propertiesOf = ({ schema }: FunctionTool<UpstreamName>) =>
  isFields(schema) && isFields(schema.properties) ? schema.properties : {};

type AboutCall = { readonly callable: Callable; readonly about: Subjects };

/** One call for each thing listed, where the tool takes one thing at a time. */
function oneForEach(callable: Callable, about: Subjects): readonly AboutCall[] {
  switch (callable.tool.type === "function" && onlyType(callable.tool)) {
    case "string":
      if (!about.isList) break;
      return about.names.map((name) => ({ callable, about: { ...about, names: [name] } }));
    case "integer":
    case "number":
      if (about.numbers.length < 2) break;
      return about.numbers.map((one) => ({ callable, about: { ...about, numbers: [one] } }));
    default:
  }
  return [{ callable, about }];
}

/** The type of the one parameter to be given; none if there are more, or it takes sentences. */
function onlyType(tool: FunctionTool<UpstreamName>): string | undefined {
  const properties = propertiesOf(tool);
  const required = isFields(tool.schema) ? requiredIn(tool.schema) : [];
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const open = names.filter((name) => {
    const schema = properties[name];
    return isFields(schema) && !("enum" in schema) && !("const" in schema);
  });
  const [name = ""] = open;
  const schema = properties[name];
  return open.length === 1 && isFields(schema) && !isFreeText(name)
    ? typesIn(schema)[0]
    : undefined;
}
