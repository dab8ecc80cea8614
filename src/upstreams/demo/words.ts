/** Reads the user's text: the words that may name tools, and the values for arguments. */

import { isFields } from "../../json/json.ts";
import { isNumeric, typesIn } from "../../schema/keywords.ts";
import type { Fields } from "../../turn/turn.ts";
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

/** Words with capitals that name neither a place nor a person. */
const calendarAndUnits: ReadonlySet<string> = new Set(
  `monday tuesday wednesday thursday friday saturday sunday january february march april june july
  august september october november december celsius fahrenheit`.split(/\s+/),
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

export const plainName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

export const isCommand = (name: string): boolean => /^(?:command|cmd)s?$/.test(plainName(name));

const QUOTED = /`([^`]+)`|"([^"]+)"|“([^”]+)”|(?<!\p{L})'([^']+)'(?!\p{L})/gu;
const NUMBER = /(?<![\p{L}\d.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d])/gu;
/** Words with capitals, or of a script without them. A state belongs to its town: "Boston, MA". */
const NAME =
  /[\p{Lu}\p{Lo}][\p{L}\p{M}\p{N}'’_-]*(?: \p{Lu}[\p{L}\p{M}\p{N}'’_-]*)*(?:, \p{Lu}{2}\b)?/gu;
const WORDS = /\p{L}[\p{L}\p{M}\p{N}'’_-]*(?: \p{L}[\p{L}\p{M}\p{N}'’_-]*)*/gu;

const RUN = /^(?:command|cmd|shell|script|code|argv?|args)s?$/;
const FOLDER = /^(?:cwd|dir|directory|workdir|workingdirectory)$/;
const FREE_TEXT =
  /^(?:query|search|question|prompt|text|message|content|input|body|q|topic|instructions?|request|description)$/;

type Row = readonly [properties: RegExp, part: RegExp, otherwise?: (text: string) => string];

/**
 * The parts of a text that strings take, by plain name or format of the property, and
 * the value if there is none. Other strings take quoted parts, else names.
 */
const table: readonly Row[] = [
  // Prose of the user is never run: only text in backticks is a command.
  [RUN, /`([^`]+)`/g, () => "echo demo"],
  [FREE_TEXT, QUOTED, (text) => text],
  [FOLDER, /^\.$/g, () => "."],
  [/mail|^(?:to|recipients?)$/, /[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g],
  [/ur[il]|link|website/, /https?:\/\/[^\s"'<>)]+/g],
  [
    /path|file|folder|directory/,
    /(?<![\w@:/.~-])(?:(?:[\w.~-]{0,64}\/)+[\w.-]*\w|[\w-]{1,64}\.\w{1,5}\b)/g,
  ],
  [/date|time|day|when/, /\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?/g],
  [/expression|equation|formula/, /[\d(][\d +\-*/^().,%]*[\d)]/g],
];

const partsOf = (text: string, part: RegExp): readonly string[] =>
  Array.from(text.matchAll(part), ([whole, ...groups]) => groups.find(Boolean) ?? whole);

/** Names by their capitals, else the words that carry meaning. Consecutive words are one name. */
function namesIn(prose: string, own: ReadonlySet<string>): readonly string[] {
  const isOrdinary = (word: string): boolean =>
    common.has(word) || calendarAndUnits.has(word) || own.has(stem(word));
  const marked = (words: string): string =>
    words.replaceAll(/\p{L}[\p{L}\p{M}\p{N}_-]*/gu, (word) =>
      isOrdinary(word.toLowerCase()) ? ";" : word,
    );
  const plain = prose.replaceAll(/(?<=\p{L})['’]\p{L}{0,2}(?!\p{L})/gu, "");
  // A capital that opens a sentence makes no name, unless there is no other: "Translate this to French".
  const opening = /(?<=^|[.?!] )\p{Lu}(?=\p{L}* (?!and |or )\p{Ll})/gu;
  const later = marked(plain.replaceAll(opening, (sign) => sign.toLowerCase()));
  const all = marked(plain);
  const found = [partsOf(later, NAME), partsOf(all, NAME), partsOf(all, WORDS)];
  return found.find((names) => names.length > 0) ?? [];
}

/** True if a text has a value apart from words in small letters. */
export const hasValues = (text: string): boolean => /["“`\d]|(?<=\S )\p{Lu}|\p{Lo}/u.test(text);

/** `parts` are the parts of the text that belong to a property. */
export type TextValues = ValueSource & {
  parts(name: string, schema: Fields): readonly unknown[];
};

/**
 * The values of a text for a call's arguments. `own`: stems of words of
 * the tool, which are no values. `known`: values that come first, by plain property name.
 */
export function valuesIn(
  text: string,
  own: ReadonlySet<string> = new Set(),
  known: ReadonlyMap<string, readonly unknown[]> = new Map(),
): TextValues {
  const quoted = partsOf(text, QUOTED);
  const prose = text.replaceAll(QUOTED, ";");
  const numbers = partsOf(prose, NUMBER).map((one) => Number(one.replaceAll(",", "")));
  const names = namesIn(prose, own);
  const stems = stemsOf(text);
  const isSaid = (words: string): boolean => {
    const asked = [...stemsOf(words)];
    return asked.length > 0 && asked.every((one) => stems.has(one));
  };
  const parts = (name: string, schema: Fields): readonly unknown[] => {
    const plain = plainName(name);
    const [type = "string"] = typesIn(schema);
    const { items } = schema;
    if (Array.isArray(schema.enum))
      return schema.enum.filter((one) => typeof one === "string" && isSaid(one));
    if (isNumeric(type)) return numbers;
    if (type === "array") {
      const each = parts(name, isFields(items) ? items : {});
      const isArguments = RUN.test(plain) && !/^(?:command|cmd)s$/.test(plain);
      return isArguments ? each.map((line) => argumentsIn(String(line))) : [each];
    }
    if (type !== "string") return [];
    for (const [properties, part, otherwise] of table) {
      if (!properties.test(plain) && !properties.test(String(schema.format))) continue;
      const found = partsOf(text, part);
      if (found.length > 0) return found;
      if (otherwise !== undefined) return [otherwise(text)];
    }
    return quoted.length > 0 ? quoted : names;
  };
  const given = new Set<unknown>();
  return {
    parts,
    isMentioned(name, schema) {
      if (known.has(plainName(name))) return true;
      if (isCommand(name)) return text.includes("`");
      const isNumber = isNumeric(typesIn(schema)[0]) && isSaid(name);
      return (isNumber || Array.isArray(schema.enum)) && parts(name, schema).length > 0;
    },
    *values(name, schema) {
      yield* known.get(plainName(name)) ?? [];
      const others = typesIn(schema)[0] === "string" ? names : [];
      const candidates = [...parts(name, schema), ...others];
      for (const one of candidates.filter((value) => !given.has(value))) {
        given.add(one);
        yield one;
      }
      // Values that another property has come last.
      yield* candidates;
    },
  };
}

/** A program and its arguments; other commands need a shell. */
const argumentsIn = (command: string): readonly string[] =>
  /^[\w@%+=:,./ -]+$/.test(command) ? command.split(/ +/) : ["bash", "-lc", command];
