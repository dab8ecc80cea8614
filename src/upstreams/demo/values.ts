/** Finds values for arguments in the text of the user and in earlier results. */

import { typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { ValueSource } from "./example.ts";
import { stemsOf, type Subjects } from "./words.ts";

/** What tools have answered so far, by plain property name. */
export type Facts = ReadonlyMap<string, readonly unknown[]>;

export const plainName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

const FREE_TEXT =
  /^(?:query|search|question|prompt|text|message|content|input|body|q|topic|instructions?|request)$/;
const COMMAND = /^(?:command|cmd|shell|script|code|argv?|args)s?$/;

/** A parameter that takes whole sentences, by its name. */
export const isFreeText = (name: string): boolean => FREE_TEXT.test(plainName(name));

/** Draws arguments from what the user said, and from what tools have answered. */
export function valuesFrom(about: Subjects, facts: Facts = new Map()): ValueSource {
  const names = about.names.values();
  const numbers = about.numbers.values();
  return {
    isMentioned: (name, schema) =>
      facts.has(plainName(name)) ||
      mentioned(schema, about).length > 0 ||
      labelled(name, about) !== undefined,
    *values(name, schema) {
      yield* facts.get(plainName(name)) ?? [];
      const [type = "string"] = typesIn(schema);
      if (Array.isArray(schema.enum)) yield* mentioned(schema, about);
      else if (type === "string") yield* texts(name, schema, about, names);
      else if (type === "array") yield list(name, schema, about);
      else if (type === "number" || type === "integer") {
        yield Number(labelled(name, about) ?? NaN);
        yield numbers.next().value;
      }
    },
  };
}

/** A parameter that takes a command to run, by its name. */
export const isCommand = (name: string): boolean => /^(?:command|cmd)s?$/.test(plainName(name));

/** Arguments of a shell: the command as it was typed, and nothing else that the user spoke of. */
export const commandSource = (command: string): ValueSource => ({
  isMentioned: isCommand,
  *values(name, schema) {
    const plain = plainName(name);
    const [type = "string"] = typesIn(schema);
    if (isCommand(name)) {
      if (type === "array") yield plain.endsWith("s") ? [command] : argumentList(command);
      yield command;
    } else if (type === "boolean") yield false;
    else if (type === "string" && schema.enum === undefined)
      yield /dir|cwd|path|folder/.test(plain) ? "." : command;
  },
});

/** A program and its arguments; what only a shell understands goes to a shell. */
const argumentList = (command: string): readonly string[] =>
  /^[\w@%+=:,./ -]+$/.test(command) ? command.split(/ +/) : ["bash", "-lc", command];

/** Prose of the user is never run: a command is only what they put in backticks. */
const commandIn = (text: string): string => /`([^`]+)`/.exec(text)?.[1] ?? "echo demo";

/** Candidates for a string, best first. Takes from `names` only where nothing better fits. */
function* texts(
  name: string,
  { format }: Fields,
  about: Subjects,
  names: Iterator<string, undefined>,
): Generator<string | undefined, void> {
  const { text, quoted, stems } = about;
  const plain = plainName(name);
  if (COMMAND.test(plain)) {
    yield commandIn(text);
    return;
  }
  yield labelled(name, about);
  for (const [properties, shape] of shapes)
    if (properties.test(plain) || properties.test(String(format))) yield shape.exec(text)?.[1];
  if (isFreeText(name)) yield quoted[0] ?? text;
  yield names.next().value;
  if (text.split(" ").length <= 3 && stems.size > 0) yield text;
}

const PLACE = "(\\p{Lu}[\\p{L}'-]*(?: \\p{Lu}[\\p{L}'-]*)*|\\S+@\\S+|[\\p{L}\\p{N}_]+)";

/** What properties of some name or format look like in a text. */
const shapes: readonly (readonly [properties: RegExp, shape: RegExp])[] = [
  [/mail/, /([\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)/],
  [/ur[il]|link|website/, /(https?:\/\/[^\s"'<>)]+)/],
  [/path|file|folder|directory/, /((?:[\w.~-]{0,64}\/)+[\w.-]+|\b[\w-]{1,64}\.\w{1,5}\b)/],
  [/date|time|when/, /(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?)/],
  [/date|day|when/, /(\d{4}-\d\d-\d\d)/],
  [/expression|equation|formula/, /([\d(][\d +\-*/^().,%]*[\d)])/],
  [/^(?:origin|from|departure|start)/, new RegExp(`\\bfrom ${PLACE}`, "u")],
  [/^(?:destination|to$|arrival|recipient)/, new RegExp(`\\bto ${PLACE}`, "u")],
];

/** "title: Foo", "limit of 5", "3 days". */
function labelled(name: string, { text, stems }: Subjects): string | undefined {
  // Most properties are not spoken of: a look at the words spares a walk through the text.
  if (name.length > 64 || !sharesWord(name, stems)) return undefined;
  const label = name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replaceAll(/[^\p{L}\p{N}]+/gu, "[ _-]?");
  const after = `\\b${label}s?\\b(?: (?:is|are|of|to|as|equals) |[:=] ?| (?="))(?:"([^"]+)"|([^ ,;]+))`;
  const before = `(?<![\\d.])(-?\\d+(?:\\.\\d+)?) ${label}s?\\b`;
  const found = new RegExp(`${after}|${before}`, "iu").exec(text);
  return found?.[1] ?? found?.[2]?.replace(/[.?!]$/, "") ?? found?.[3];
}

const sharesWord = (name: string, stems: ReadonlySet<string>): boolean =>
  [...stemsOf(name)].some((one) => stems.has(one));

/** The values of an enumeration that a text speaks of. */
function mentioned({ enum: values }: Fields, { text, stems }: Subjects): readonly string[] {
  if (!Array.isArray(values)) return [];
  const named = values.filter((one) => typeof one === "string" && sharesWord(one, stems));
  return named.filter((one) => text.toLowerCase().includes(one.toLowerCase()));
}

/** A list takes all that is named. */
function list(name: string, { items }: Fields, about: Subjects): readonly unknown[] | undefined {
  const item = isFields(items) ? items : {};
  const [type = ""] = typesIn(item);
  if (COMMAND.test(plainName(name))) return argumentList(commandIn(about.text));
  if (Array.isArray(item.enum)) return mentioned(item, about);
  return { number: about.numbers, integer: about.numbers, string: about.names }[type];
}
