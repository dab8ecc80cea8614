/** Reads the user's text: the words that may name tools, and the values for arguments. */

import { isFields } from "../../json/json.ts";
import { isNumeric, typesIn } from "../../schema/keywords.ts";
import type { ValueSource } from "./example.ts";

/** Words that name no tool and no value. */
const common: ReadonlySet<string> = new Set(
  `a about all also am an and any are as at be been both but by can could did do does for from get
  give go good had has have hello help her hey hi him his how i if in into is it its just know like
  look make me more my need no not now of off ok on one or our out over please really right say see
  she show so some tell than thank thanks that the their them then there these they this to today
  tomorrow tonight too two up us use using very want was we were what when where which while who why
  will with would yes yet you your versus vs compare between near every each other again first next
  current currently check find lookup call let dear may might must should shall`.split(/\s+/),
);

/** Forms of one word mostly differ only after the sixth letter. */
const stem = (word: string): string =>
  (word.length > 3 ? word.replace(/s$/, "") : word).slice(0, 6);

/** The stems of a text's words that carry meaning, names in camel case taken apart. */
export function stemsOf(text: string): ReadonlySet<string> {
  const words = text.replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2").toLowerCase();
  const found = words.replaceAll(/['’]\p{L}+/gu, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(found.filter((word) => !common.has(word)).map(stem));
}

/** The demo reads no more of a message, so that its work on one is bounded. */
const MAX_READ = 4_000;
const MAX_BLOCKS = 50;

/**
 * The text that the user typed. Agents add blocks in tags to a user's message
 * (`<system-reminder>...</system-reminder>`), which are no requests.
 */
export function typedLines(message: string): string {
  let rest = message;
  let typed = "";
  for (let block = 0; block < MAX_BLOCKS; block++) {
    const open = /<([a-z][\w-]*)>/.exec(rest);
    if (open === null) break;
    const afterTag = open.index + open[0].length;
    const close = rest.indexOf(`</${open[1]}>`, afterTag);
    typed += rest.slice(0, close === -1 ? afterTag : open.index);
    rest = rest.slice(close === -1 ? afterTag : close + open[0].length + 1);
  }
  return (typed + rest).slice(0, MAX_READ).trim();
}

export const onOneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The values that a text has for a call's arguments. */
export type Subjects = {
  readonly text: string;
  /** In quotation marks or backticks. */
  readonly quoted: readonly string[];
  /** Quoted text, else proper names, else the words after a preposition. */
  readonly names: readonly string[];
  /** True if the names follow each other, as in "Paris, Rome and Oslo". */
  readonly isList: boolean;
  readonly numbers: readonly number[];
};

const NUMBER = /(?<![\p{L}\d.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d])/gu;
const QUOTED = /`([^`]+)`|"([^"]+)"|“([^”]+)”|(?<!\p{L})'([^']+)'(?!\p{L})/gu;
const CAPITALISED = /\p{Lu}[\p{L}\p{M}\p{N}'’-]*/u.source;
/** A state in two capitals belongs to its town: "Boston, MA". */
const PROPER = new RegExp(
  `${CAPITALISED}(?: (?:(?:de|du|la|le|of|the|van|von) )?${CAPITALISED})*(?:, \\p{Lu}{2}\\b)?`,
  "gu",
);
const BETWEEN = /^(?:['’]s)?(?:,| (?:and|or|vs\.?|versus|&))+ (?:(?:in|for|of|at|the|to|and) )*$/iu;
const PREPOSITION =
  /\b(?:in|for|of|at|about|on|to|from|between|near|with|named|called) ([^.?!;:]+)/iu;

/** `own`: stems of the tool's name, which name no value. */
export function subjectsOf(text: string, own: ReadonlySet<string> = new Set()): Subjects {
  const quoted = Array.from(text.matchAll(QUOTED), (found) => found.slice(1).join(""));
  const numbers = Array.from(text.matchAll(NUMBER), ([one]) => Number(one.replaceAll(",", "")));
  const proper = quoted.length > 0 ? { names: quoted, isList: true } : properNames(text, own);
  const { names, isList } =
    proper.names.length > 0 ? proper : { names: namesAfterPreposition(text), isList: true };
  return { text, quoted, numbers, names, isList: isList && names.length > 1 };
}

function properNames(text: string, own: ReadonlySet<string>): Pick<Subjects, "names" | "isList"> {
  const names: string[] = [];
  let isList = true;
  let end = 0;
  for (const { 0: whole, index } of text.matchAll(PROPER)) {
    const words = whole.split(" ");
    const isOrdinary = (word: string): boolean => common.has(word) || own.has(stem(word));
    while (isOrdinary(words[0]?.replace(/['’].*/, "").toLowerCase() ?? "")) words.shift();
    const name = words.join(" ").replace(/['’]s?$/, "");
    if (name === "") continue;
    const start = index + whole.length - words.join(" ").length;
    isList &&= names.length === 0 || BETWEEN.test(text.slice(end, start));
    end = start + name.length;
    names.push(name);
  }
  // A capital that opens a sentence makes no name ("Translate"), unless there is no other.
  if (names.length > 1 && !isList && text.startsWith(names[0] ?? "")) names.shift();
  return { names, isList };
}

/** In a text without capitals: up to four words after a preposition, and the words listed with them. */
const namesAfterPreposition = (text: string): readonly string[] =>
  (PREPOSITION.exec(text)?.[1] ?? "")
    .split(/,? (?:and|or|vs\.?|versus|&) |, ?/iu)
    .flatMap((piece) => {
      const words = piece.replace(/^(?:(?:in|for|of|the|a) )+/, "").split(" ");
      const last = words.findIndex((word) => common.has(word));
      return words.slice(0, last === -1 ? 4 : last).join(" ") || [];
    });

export const plainName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

/** Parameters by their plain names. */
const FREE_TEXT =
  /^(?:query|search|question|prompt|text|message|content|input|body|q|topic|instructions?|request)$/;
const COMMAND = /^(?:command|cmd)s?$/;
const RUN = /^(?:command|cmd|shell|script|code|argv?|args)s?$/;
const FOLDER = /^(?:cwd|dir|directory|workdir|workingdirectory)$/;

/** A parameter that takes whole sentences. */
export const isFreeText = (name: string): boolean => FREE_TEXT.test(plainName(name));

export const isCommand = (name: string): boolean => COMMAND.test(plainName(name));

const PLACE = "(\\p{Lu}[\\p{L}'-]*(?: \\p{Lu}[\\p{L}'-]*)*|\\S+@\\S+|[\\p{L}\\p{N}_]+)";

/** The shape in a text of properties with some name or format. */
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

/** Draws arguments from the user's text, and before that from values known by plain property name. */
export function valuesFrom(
  about: Subjects,
  known: ReadonlyMap<string, readonly unknown[]> = new Map(),
): ValueSource {
  const { text, quoted } = about;
  const stems = stemsOf(text);
  const [, command] = /`([^`]+)`/.exec(text) ?? [];
  const lowered = text.toLowerCase();
  const names = about.names.values();
  const numbers = about.numbers.values();
  const isNamed = (word: string): boolean => [...stemsOf(word)].some((one) => stems.has(one));
  const mentioned = (values: unknown): readonly unknown[] =>
    (Array.isArray(values) ? values : []).filter(
      (one) => typeof one === "string" && isNamed(one) && lowered.includes(one.toLowerCase()),
    );
  return {
    isMentioned: (name, schema) =>
      known.has(plainName(name)) ||
      mentioned(schema.enum).length > 0 ||
      (isCommand(name) && command !== undefined) ||
      (isNumeric(typesIn(schema)[0]) && about.numbers.length > 0 && isNamed(name)),
    *values(name, schema) {
      const plain = plainName(name);
      const [type = "string"] = typesIn(schema);
      const items = isFields(schema.items) ? schema.items : {};
      yield* known.get(plain) ?? [];
      if (Array.isArray(schema.enum)) yield* mentioned(schema.enum);
      else if (RUN.test(plain)) {
        // Prose of the user is never run: only text in backticks is a command.
        const line = command ?? "echo demo";
        const isList = isCommand(name) && plain.endsWith("s");
        yield type !== "array" ? line : isList ? [line] : argumentList(line);
      } else if (type === "array" && Array.isArray(items.enum)) yield mentioned(items.enum);
      else if (type === "array") yield typesIn(items)[0] === "string" ? about.names : about.numbers;
      else if (isNumeric(type)) yield* numbers;
      else if (type === "string") {
        for (const [properties, shape] of shapes)
          if (properties.test(plain) || properties.test(String(schema.format)))
            yield shape.exec(text)?.[1];
        if (FOLDER.test(plain)) yield ".";
        if (isFreeText(name)) yield quoted[0] ?? text;
        yield names.next().value;
        if (text.split(" ").length <= 3 && stems.size > 0) yield text;
      }
    },
  };
}

/** A program and its arguments; other commands need a shell. */
const argumentList = (command: string): readonly string[] =>
  /^[\w@%+=:,./ -]+$/.test(command) ? command.split(/ +/) : ["bash", "-lc", command];
