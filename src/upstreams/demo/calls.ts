/** Chooses the tools that the demo calls. */

import { isFields } from "../../json/json.ts";
import { requiredIn, typesIn } from "../../schema/keywords.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { CustomTool, FunctionTool, Tool } from "../../turn/turn.ts";
import { exampleOf, type ValueSource } from "./example.ts";
import {
  commandSource,
  isCommand,
  isFreeText,
  onOneLine,
  stemsOf,
  subjectsOf,
  valuesFrom,
  type Subjects,
} from "./words.ts";

/** A tool that can be called, with its namespace. */
export type Callable = {
  readonly tool: FunctionTool<UpstreamName> | CustomTool<UpstreamName>;
  readonly namespace?: string | undefined;
};

export type MadeCall = { readonly callable: Callable; readonly input: string };

export const callables = (tools: readonly Tool<UpstreamName>[], namespace?: string): Callable[] =>
  tools.flatMap((tool) => {
    if (tool.type === "namespace") return callables(tool.tools, tool.name);
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
  offered: readonly Callable[],
  must: boolean,
): readonly MadeCall[] {
  const commands = commandsIn(typed, offered);
  const text = onOneLine(typed);
  const shell = commands.length === 0 ? undefined : shellIn(text, offered);
  const calls =
    shell !== undefined
      ? commands.map((command) => made(shell, commandSource(command), command))
      : // Words of a command name no tool; without a shell only a call that is forced is made.
        commands.length === 0 || must
        ? callsAbout(text, offered, must)
        : [];
  // The same call twice would bring the same result.
  const isFirst = ({ callable, input }: MadeCall, at: number): boolean =>
    calls.findIndex((one) => one.callable === callable && one.input === input) === at;
  return calls.slice(0, MAX_CALLS).filter(isFirst);
}

function made(callable: Callable, source: ValueSource, free: string): MadeCall {
  const { tool } = callable;
  if (tool.type === "custom") return { callable, input: free };
  // References point from the root, so the root has to stay where it is.
  const schema = isFields(tool.schema) ? tool.schema : {};
  const value = exampleOf({ type: "object", ...schema }, source);
  return { callable, input: JSON.stringify(isFields(value) ? value : {}) };
}

function callsAbout(text: string, offered: readonly Callable[], must: boolean): MadeCall[] {
  const named = partsByTool(text, offered);
  const fallback = named.length > 0 ? undefined : (fitting(text, offered) ?? (must && offered[0]));
  const parts = fallback ? [{ callable: fallback, from: 0, to: text.length }] : named;
  const planned = parts.map(({ callable, from, to }) => {
    const own = stemsOf(`${callable.tool.name} ${callable.namespace ?? ""}`);
    return { callable, own, about: subjectsOf(text.slice(from, to).trim(), own) };
  });
  const served = new Set(planned.filter(({ about }) => !isBare(about)).map((one) => one.callable));
  const calls = planned.flatMap(({ callable, own, about }) => {
    if (!isBare(about)) return eachListed(callable, about);
    // "Call this and that for Paris": the one name is meant for both.
    if (served.has(callable)) return [];
    return eachListed(callable, { ...subjectsOf(text, own), text: about.text });
  });
  return calls
    .slice(0, MAX_CALLS)
    .map(({ callable, about }) => made(callable, valuesFrom(about), about.quoted[0] ?? about.text));
}

const RUN = /\b(?:run|execute)(?: the| this)?(?: shell)?(?: command)?:?\s+`([^`]+)`/gi;

/** The commands that the user asks to run, as in "Run `ls -la`"; the name of a tool is no command. */
export const commandsIn = (typed: string, offered: readonly Callable[]): readonly string[] =>
  Array.from(typed.matchAll(RUN), ([, command = ""]) => command.trim()).filter(
    (command) => command !== "" && !offered.some(({ tool }) => tool.name === command),
  );

const SHELL = /^(?:local_?shell|shell|shell_command|exec_command|bash|run_shell_command)$/i;

/** The tool that runs commands: the one that the text names, else one named like a shell, else the first. */
function shellIn(text: string, offered: readonly Callable[]): Callable | undefined {
  const able = offered.filter(({ tool }) => {
    if (tool.type === "custom") return SHELL.test(tool.name);
    const properties = Object.entries(propertiesOf(tool));
    // A text or a list; a schema that does not say may be given either.
    const takes = ([name, schema]: [string, unknown]): boolean =>
      isCommand(name) &&
      (!isFields(schema) || typesIn(schema).every((type) => /^(?:string|array|null)$/.test(type)));
    return properties.some(takes) || (SHELL.test(tool.name) && properties.length === 0);
  });
  const [named] = partsByTool(text.replaceAll(/`[^`]*`/g, ""), able);
  return named?.callable ?? able.find(({ tool }) => SHELL.test(tool.name)) ?? able[0];
}

const isBare = ({ names, numbers }: Subjects): boolean => names.length + numbers.length === 0;

type TextPart = { readonly callable: Callable; readonly from: number; to: number };

/** Cuts a text before each tool that it names, at the end of the sentence or clause before. */
function partsByTool(text: string, offered: readonly Callable[]): TextPart[] {
  // A word in the names of two tools names neither.
  const owners = new Map<string, Callable | undefined>();
  for (const callable of offered)
    for (const word of stemsOf(callable.tool.name))
      owners.set(word, owners.has(word) ? undefined : callable);
  for (const callable of offered) owners.set(callable.tool.name.toLowerCase(), callable);
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

/** The tool that shares most words with a text; a single tool also takes any name or number. */
function fitting(text: string, offered: readonly Callable[]): Callable | undefined {
  const stems = stemsOf(text);
  const [only] = offered;
  if (stems.size === 0 || only === undefined) return undefined;
  // Words for a tool: its name, its parameters, the first sentence of its description.
  const score = ({ tool }: Callable): number => {
    const [sentence = ""] = (tool.description ?? "").split(/[.\n]/, 1);
    const parameters = tool.type === "function" ? Object.keys(propertiesOf(tool)) : [];
    const words = stemsOf([tool.name, sentence, ...parameters].join(" "));
    return [...words].filter((word) => stems.has(word)).length;
  };
  const best = offered.reduce((a, b) => (score(b) > score(a) ? b : a));
  // Among the words of many tools any text finds one, so there two are needed.
  if (offered.length > 1) return score(best) > 1 ? best : undefined;
  const { quoted, numbers } = subjectsOf(text);
  // Scripts without capitals do not show which word is a name.
  const isNamed = quoted.length + numbers.length > 0 || /(?<=\S )\p{Lu}|\p{Lo}/u.test(text);
  return score(only) > 0 || isNamed || only.tool.type === "custom" ? only : undefined;
}

const propertiesOf = ({ schema }: FunctionTool<UpstreamName>) =>
  isFields(schema) && isFields(schema.properties) ? schema.properties : {};

type AboutCall = { readonly callable: Callable; readonly about: Subjects };

/** One call for each thing listed, where the tool takes one thing at a time. */
function eachListed(callable: Callable, about: Subjects): readonly AboutCall[] {
  const { tool } = callable;
  const type = tool.type === "function" ? onlyType(tool) : undefined;
  if (type === "string" && about.isList)
    return about.names.map((name) => ({ callable, about: { ...about, names: [name] } }));
  if ((type === "integer" || type === "number") && about.numbers.length > 1)
    return about.numbers.map((one) => ({ callable, about: { ...about, numbers: [one] } }));
  return [{ callable, about }];
}

/** The type of the one required parameter; undefined if there are more, or if it takes sentences. */
function onlyType(tool: FunctionTool<UpstreamName>): string | undefined {
  const properties = propertiesOf(tool);
  const required = isFields(tool.schema) ? requiredIn(tool.schema) : [];
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const open = names.flatMap((name) => {
    const schema = properties[name];
    return isFields(schema) && !("enum" in schema) && !("const" in schema) ? { name, schema } : [];
  });
  const [only] = open;
  if (open.length !== 1 || only === undefined || isFreeText(only.name)) return undefined;
  return typesIn(only.schema)[0];
}
