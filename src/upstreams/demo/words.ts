/** Words that say nothing of what is wanted. */
const common = new Set(
  `a about all also am an and any are as at be been both but by can could did do does for from get
  give go good had has have hello help her hey hi him his how i if in into is it its just know like
  look make me more my need no not now of off ok on one or our out over please really right say see
  she show so some tell than thank thanks that the their them then there these they this to today
  tomorrow tonight too two up us use using very want was we were what when where which while who why
  will with would yes yet you your versus vs compare between near every each other again first next
  currently current i'm i'd what's how's where's who's it's that's let's check find lookup call let
  dear may might must should shall do don't`
    .split(/\s+/)
    .filter(Boolean),
);

/** Whoever writes more wants more than the demo can give, and to look through it all would take long. */
const LONGEST = 4_000;

/** What the demo takes in of a text. */
export const heard = (text: string): string => text.slice(0, LONGEST);

/** Brings the forms of a word together, roughly: most differ only behind their sixth letter. */
function stem(word: string): string {
  const short = word.replace(/['’]s$/, "");
  return (short.length > 3 ? short.replace(/s$/, "") : short).slice(0, 6);
}

/** The words of a text that mean something, in their stems. */
export function meaningful(text: string): Set<string> {
  const split = text
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+(?:['’]\p{L}+)?/gu);
  return new Set((split ?? []).filter((word) => !common.has(word)).map(stem));
}

/** What a user named in a text. */
export type Named = {
  readonly text: string;
  /** In quotation marks or backticks. */
  readonly quoted: readonly string[];
  readonly numbers: readonly number[];
  /** What is quoted; failing that, proper names; failing those, what follows a preposition, or numbers. */
  readonly subjects: readonly string[];
  readonly proper: boolean;
  /** Whether the subjects are listed side by side, as in "Paris, Rome and Oslo". */
  readonly listed: boolean;
  /** The one of the list that all this is about. */
  readonly single?: string | undefined;
};

/** `known`: stems that name nothing here, since they are the tool's own words. */
export function named(text: string, known: ReadonlySet<string> = new Set()): Named {
  const quoted = Array.from(
    text.matchAll(/`([^`]+)`|"([^"]+)"|“([^”]+)”|(?<!\p{L})'([^']+)'(?!\p{L})/gu),
    (found) => found.slice(1).find((part) => part !== undefined) ?? "",
  );
  const counts = Array.from(text.matchAll(NUMBER), ({ 0: name, index }) => ({
    name,
    start: index,
    end: index + name.length,
  }));
  const proper = properNames(text, known);
  const spoken = [proper, prepositional(text)].find((found) => found.length > 0) ?? counts;
  return {
    text,
    quoted,
    numbers: counts.map(({ name }) => Number(name.replaceAll(",", ""))),
    subjects: quoted.length > 0 ? quoted : spoken.map(({ name }) => name),
    proper: quoted.length > 0 || proper.length > 0,
    listed: quoted.length > 1 || (quoted.length === 0 && spoken.length > 1 && isList(text, spoken)),
  };
}

const NUMBER = /(?<![\p{L}\d.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\p{L}\d])/gu;

type Found = { readonly name: string; readonly start: number; readonly end: number };

const CAPITAL = /(?:(?:\p{Lu}\.)+|(?:St|Mt|Ft|Dr|Mr|Ms|Mrs)\.|\p{Lu}[\p{L}\p{M}\p{N}'’-]*)/u.source;
const NAME = new RegExp(
  `${CAPITAL}(?:(?:\\s+(?:de|du|la|le|of|on|upon|del|van|von|der|the))*\\s+${CAPITAL})*`,
  "gu",
);

function properNames(text: string, known: ReadonlySet<string>): Found[] {
  const names: (Found & { opening: boolean })[] = [];
  for (const { 0: whole, index } of text.matchAll(NAME)) {
    const initial = /(?:^|[.?!:\n])["'“(]*\s*$/.test(text.slice(0, index));
    // "What Paris", "Compare Rome": the words that only begin the sentence are not the name's.
    const kept = initial ? withoutOrdinary(whole, known) : whole;
    const start = index + whole.length - kept.length;
    const name = kept.replaceAll(/\s+/g, " ").replace(/(?:['’]s)?['’-]*$/, "");
    if (
      name === "" ||
      /^I(?:['’]\w+)?$/.test(name) ||
      (!name.includes(" ") && known.has(stem(name.toLowerCase())))
    )
      continue;
    const end = start + name.length;
    const opening =
      initial &&
      start === index &&
      !name.includes(" ") &&
      /^\s+(?!and\b|or\b|vs\b|versus\b|&)/u.test(text.slice(end));
    names.push({ name, start, end, opening });
  }
  // A capital that merely opens a sentence counts only if there is nothing better.
  const better = names.filter(({ opening }) => !opening);
  return withRegions(text, better.length > 0 ? better : names);
}

function withoutOrdinary(phrase: string, known: ReadonlySet<string>): string {
  const [first = ""] = /^\S+\s*/.exec(phrase) ?? [];
  const word = first.trim().toLowerCase();
  const ordinary = first !== "" && (common.has(word) || known.has(stem(word)));
  return ordinary ? withoutOrdinary(phrase.slice(first.length), known) : phrase;
}

/** "Boston, MA" and "Paris, France" are one place each; "Paris, Rome and Oslo" are three. */
function withRegions(text: string, names: readonly Found[]): Found[] {
  const joined: Found[] = [];
  const pair =
    names.length === 2 &&
    !/\b(?:both|each|these|following|\p{L}+ies|places|locations)\b/iu.test(text);
  for (const [at, found] of names.entries()) {
    const last = joined.at(-1);
    const region =
      last !== undefined &&
      /^,\s*$/.test(text.slice(last.end, found.start)) &&
      (/^\p{Lu}{2}$/u.test(found.name) || (pair && at === 1));
    if (last === undefined || !region) joined.push(found);
    else
      joined[joined.length - 1] = {
        name: `${last.name}, ${found.name}`,
        start: last.start,
        end: found.end,
      };
  }
  return joined;
}

const LEADS = /\b(?:in|for|of|at|about|on|to|from|between|near|with|named|called|compare)\s+/giu;
const JOINTS = /\s*(?:,\s*(?:and|or)\b|,|\band\b|\bor\b|\bvs\b\.?|\bversus\b|&)\s*/iu;

/** What follows a preposition, for those who write in lower case. */
function prepositional(text: string): Found[] {
  for (const lead of text.matchAll(LEADS)) {
    const start = lead.index + lead[0].length;
    const [phrase = ""] = /^[^.?!;:\n]*/.exec(text.slice(start)) ?? [];
    const found: Found[] = [];
    let from = start;
    for (const piece of phrase.split(JOINTS)) {
      const at = text.indexOf(piece, from);
      const name = subjectOf(piece);
      const offset = at + piece.indexOf(name);
      if (name !== "" && piece !== "")
        found.push({ name, start: offset, end: offset + name.length });
      from = at + piece.length;
    }
    if (found.length > 0) return found;
  }
  return [];
}

/** The first few words that mean something, up to one that does not. */
function subjectOf(piece: string): string {
  const words = piece.trim().split(/\s+/);
  while (words[0] !== undefined && common.has(words[0].toLowerCase())) words.shift();
  const end = words.findIndex((word) => common.has(word.toLowerCase()));
  const kept = end === -1 ? words : words.slice(0, end);
  return kept.length <= 4 ? kept.join(" ") : "";
}

function isList(text: string, found: readonly Found[]): boolean {
  return found.every((one, at) => {
    const next = found[at + 1];
    if (next === undefined) return true;
    const between = text.slice(one.end, next.start);
    return new RegExp(`^(?:['’]s)?${JOINTS.source}(?:(?:in|for|of|at|the|to)\\s+)*$`, "iu").test(
      between,
    );
  });
}
