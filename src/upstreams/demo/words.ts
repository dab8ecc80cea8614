/** Splits the user's text into the words that may name tools and values. */

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

/** Brings forms of a word together: most differ only behind the sixth letter. */
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
 * What the user typed. Agents add blocks of their own in tags to a user's
 * message (`<system-reminder>...</system-reminder>`): these ask for nothing.
 */
export const typedText = (message: string): string =>
  typedLines(message).replaceAll(/\s+/g, " ").trim();

/** The same with its white space. */
export function typedLines(message: string): string {
  let rest = message;
  let typed = "";
  for (let block = 0; block < MAX_BLOCKS; block++) {
    const open = /<([a-z][\w-]*)>/.exec(rest);
    if (open === null) break;
    const behind = open.index + open[0].length;
    const close = rest.indexOf(`</${open[1]}>`, behind);
    typed += rest.slice(0, close === -1 ? behind : open.index);
    rest = rest.slice(close === -1 ? behind : close + open[0].length + 1);
  }
  return (typed + rest).slice(0, MAX_READ);
}

type Names = {
  /** What is quoted, else proper names, else what follows a preposition. */
  readonly names: readonly string[];
  /** Whether the names stand side by side, as in "Paris, Rome and Oslo". */
  readonly isList: boolean;
};

/** What a text speaks of: the values for a call's arguments. */
export type Subjects = Names & {
  readonly text: string;
  readonly stems: ReadonlySet<string>;
  /** In quotation marks or backticks. */
  readonly quoted: readonly string[];
  readonly numbers: readonly number[];
};

const NUMBER = /(?<![\p{L}\d.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d])/gu;
const QUOTED = /`([^`]+)`|"([^"]+)"|“([^”]+)”|(?<!\p{L})'([^']+)'(?!\p{L})/gu;

/** `own`: stems of the tool's name, which name no value. */
export function subjectsOf(text: string, own: ReadonlySet<string> = new Set()): Subjects {
  const quoted = Array.from(text.matchAll(QUOTED), (found) => found.slice(1).join(""));
  const numbers = Array.from(text.matchAll(NUMBER), ([one]) => Number(one.replaceAll(",", "")));
  const named =
    quoted.length > 0 ? { names: quoted, isList: quoted.length > 1 } : namesIn(text, own);
  return { text, stems: stemsOf(text), quoted, numbers, ...named };
}

const CAPITALISED = /\p{Lu}[\p{L}\p{M}\p{N}'’-]*/u.source;
/** A state in two capitals belongs to its town: "Boston, MA". */
const PROPER = new RegExp(
  `${CAPITALISED}(?: (?:(?:de|du|la|le|of|the|van|von) )?${CAPITALISED})*(?:, \\p{Lu}{2}\\b)?`,
  "gu",
);
const BETWEEN = /^(?:['’]s)?(?:,| (?:and|or|vs\.?|versus|&))+ (?:(?:in|for|of|at|the|to|and) )*$/iu;

function namesIn(text: string, own: ReadonlySet<string>): Names {
  const isOrdinary = (word: string): boolean =>
    common.has(word.toLowerCase()) || own.has(stem(word.toLowerCase()));
  const names: string[] = [];
  let isList = true;
  let end = 0;
  for (const { 0: whole, index } of text.matchAll(PROPER)) {
    const words = whole.split(" ");
    while (words[0] !== undefined && isOrdinary(words[0].replace(/['’].*/, ""))) words.shift();
    const name = words.join(" ").replace(/['’]s?$/, "");
    if (name === "") continue;
    const start = index + whole.length - words.join(" ").length;
    isList &&= names.length === 0 || BETWEEN.test(text.slice(end, start));
    end = start + name.length;
    names.push(name);
  }
  // A capital that opens a sentence makes no name ("Translate"), unless there is no other.
  const isOpener = names.length > 1 && !isList && text.startsWith(names[0] ?? "");
  if (names.length > 0)
    return { names: names.slice(isOpener ? 1 : 0), isList: isList && names.length > 1 };
  return lowerCaseNames(text);
}

const PREPOSITION =
  /\b(?:in|for|of|at|about|on|to|from|between|near|with|named|called) ([^.?!;:]+)/iu;

/** For those who write in lower case: up to four words behind a preposition, and what is listed with them. */
function lowerCaseNames(text: string): Names {
  const pieces = PREPOSITION.exec(text)?.[1]?.split(/,? (?:and|or|vs\.?|versus|&) |, ?/iu) ?? [];
  const names = pieces.flatMap((piece) => {
    const words = piece.replace(/^(?:(?:in|for|of|the|a) )+/, "").split(" ");
    const end = words.findIndex((word) => common.has(word));
    return words.slice(0, end === -1 ? 4 : end).join(" ") || [];
  });
  return { names, isList: names.length > 1 };
}
