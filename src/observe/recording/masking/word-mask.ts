/** Puts other letters and digits in the place of those of a text, word by word. */

/** From 0 up to 1. */
export type Random = () => number;

/**
 * One way that a word may begin, and what its last character becomes. Most have one
 * way on at most, so that the first stands in the object itself.
 */
type Prefix = {
  readonly letter: string;
  readonly seed: number;
  nextChar: string;
  next: Prefix | undefined;
  others: Map<string, Prefix> | undefined;
  /** A word ends here. */
  isWord: boolean;
  /** What characters behind it have become: others become others, so that keys stay apart. */
  taken: Set<string> | undefined;
};

/** Letters by their case and the bytes they take in UTF-8, so that no size changes. */
const alphabets = {
  // Without the last letters, which stand for those of stop sequences.
  lower: letters(0x61, 0x79),
  upper: letters(0x41, 0x59),
  digit: letters(0x30, 0x39),
  lower2: letters(0xe0, 0xf6),
  upper2: letters(0xc0, 0xd6),
  wide3: letters(0x4e00, 0x4fff),
  wide4: letters(0x20000, 0x200ff),
} as const;

function letters(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));
}

/** Longer words, such as images in base64, go on by a sum of what came: a tree of them would be huge. */
const DEEPEST = 40;

/**
 * What a character becomes depends on the word up to it and on nothing else, by
 * choices made at random for each mask: a word that comes in pieces is masked as
 * it is masked in one, equal words stay equal, and one that begins with another
 * still does.
 */
export class WordMask {
  readonly #random: Random;
  readonly #root: Prefix;

  constructor(random: Random) {
    this.#random = random;
    this.#root = this.#prefix("", 0);
  }

  text(text: string): string {
    let masked = "";
    let at = this.#root;
    let depth = 0;
    let sum = 0;
    for (const char of text) {
      const alphabet = alphabetOf(char);
      if (alphabet === undefined) {
        masked += char;
        at.isWord = true;
        at = this.#root;
        depth = 0;
        continue;
      }
      if (depth++ < DEEPEST) {
        at = this.#after(at, char, alphabet);
        sum = at.seed;
        masked += at.letter;
        continue;
      }
      sum = (Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x9e3779b1) >>> 0) ^ (sum >>> 13);
      masked += alphabet[(sum >>> 0) % alphabet.length] ?? char;
    }
    at.isWord = true;
    return masked;
  }

  /** A text in which other words stay than those that were masked before. */
  knownWords(text: string, stays: (word: string) => boolean): string {
    return text.replaceAll(/[\p{L}\p{N}\p{M}]+/gu, (word) =>
      !stays(word.toLowerCase()) && formsOf(word).some((form) => this.#has(form))
        ? this.text(word)
        : word,
    );
  }

  #has(word: string): boolean {
    let at: Prefix | undefined = this.#root;
    let depth = 0;
    for (const char of word) {
      if (depth++ === DEEPEST) return true;
      at = at.nextChar === char ? at.next : at.others?.get(char);
      if (at === undefined) return false;
    }
    return at.isWord;
  }

  /**
   * A number of JSON: it stays one, with as many digits, and its exponent stays. One
   * that is written as JavaScript writes it still is, so that whoever reads and
   * writes it leaves it as it is; zeros at the end of a fraction stay for the same reason.
   */
  number(text: string): string {
    const [, core = text, zeros = "", exponent = ""] = NUMBER_PARTS.exec(text) ?? [];
    const masked = this.#digits(core);
    const isShort = core.length <= SAFE_DIGITS && exponent === "";
    const written = `${core}${exponent}`;
    if (isShort || String(Number(written)) !== written) return masked + zeros + exponent;
    const shape = shapeOf(written);
    for (const candidate of withOtherEnds(masked)) {
      const own = String(Number(`${candidate}${exponent}`));
      if (shapeOf(own) === shape && own.endsWith(exponent))
        return own.slice(0, own.length - exponent.length) + zeros + exponent;
    }
    // Only the largest and the smallest there are: no others can be written at such a length.
    return text;
  }

  /** A leading zero stays one; the first digit of others, and the last of a fraction, become none. */
  #digits(digits: string): string {
    const first = digits.startsWith("-") ? 1 : 0;
    const last = digits.includes(".") ? digits.length - 1 : first;
    return this.text(digits).replaceAll(/\d/g, (digit, place: number) => {
      if (place === first && digits[first] === "0") return "0";
      return digit === "0" && (place === first || place === last) ? "1" : digit;
    });
  }

  #prefix(letter: string, seed: number): Prefix {
    const [next, others, taken] = [undefined, undefined, undefined];
    return { letter, seed, nextChar: "", next, others, isWord: false, taken };
  }

  #after(prefix: Prefix, char: string, alphabet: readonly string[]): Prefix {
    const known = prefix.nextChar === char ? prefix.next : prefix.others?.get(char);
    if (known !== undefined) return known;
    const seed = Math.floor(this.#random() * 0x1_0000_0000);
    if (prefix.next === undefined) {
      prefix.nextChar = char;
      return (prefix.next = this.#prefix(alphabet[seed % alphabet.length] ?? char, seed));
    }
    const taken = (prefix.taken ??= new Set([prefix.next.letter]));
    let letter = char;
    for (let step = 0; step < MOST_STEPS; step++) {
      letter = alphabet[(seed + step) % alphabet.length] ?? char;
      if (!taken.has(letter)) break;
    }
    const made = this.#prefix(letter, seed);
    taken.add(letter);
    (prefix.others ??= new Map()).set(char, made);
    return made;
  }
}

/** A word as it may stand elsewhere, at the begin of a sentence or in capitals. */
const formsOf = (word: string): readonly string[] => {
  const lower = word.toLowerCase();
  return [word, lower, lower.slice(0, 1).toUpperCase() + lower.slice(1), word.toUpperCase()];
};

/** As many letters as are looked at for one that is free: all of those of ASCII. */
const MOST_STEPS = 26;

/** Digits that count, zeros behind them that do not, and the exponent. */
const NUMBER_PARTS = /^(-?\d+(?:\.\d*[1-9])?)(\.?0*)((?:[eE][+-]?\d*)?)$/;

/** A number of so many characters is read and written as it is. */
const SAFE_DIGITS = 15;

/**
 * A number, and it with other digits in its first and last place. Of those with 17
 * digits few are written with all of them, most where the first is small.
 */
function* withOtherEnds(digits: string): Generator<string> {
  const last = Number(digits.at(-1));
  const first = digits.search(/[1-9]/);
  for (const lead of [digits[first] ?? "", 1, 2, 3, 4, 5, 6, 7, 8, 9])
    for (let step = 0; step < 10; step++) {
      const end = String((last + step) % 10);
      const inner = digits.slice(first + 1, -1);
      yield first === digits.length - 1 || first === -1
        ? digits
        : `${digits.slice(0, first)}${lead}${inner}${end}`;
    }
}

function alphabetOf(char: string): readonly string[] | undefined {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) {
    if (code >= 0x61 && code <= 0x7a) return alphabets.lower;
    if (code >= 0x41 && code <= 0x5a) return alphabets.upper;
    return code >= 0x30 && code <= 0x39 ? alphabets.digit : undefined;
  }
  if (!/[\p{L}\p{N}\p{M}]/u.test(char)) return undefined;
  if (code < 0x800) return /\p{Lu}/u.test(char) ? alphabets.upper2 : alphabets.lower2;
  return code < 0x10000 ? alphabets.wide3 : alphabets.wide4;
}

/** A stop sequence: of letters that no masked word has, so that it is found where it was. */
export const stopMask = (text: string): string =>
  text.replaceAll(/[\p{L}\p{N}\p{M}]/gu, (char) => {
    const alphabet = alphabetOf(char);
    if (alphabet === alphabets.lower) return "z";
    if (alphabet === alphabets.upper) return "Z";
    return alphabet?.at(-1) ?? char;
  });

/** The same number of characters and bytes, all of them alike. */
export const blotOut = (text: string): string =>
  text.replaceAll(/./gsu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return "x";
    return code < 0x800 ? "é" : code < 0x10000 ? "一" : "𠀀";
  });

/**
 * A text with every letter and digit as its class alone: what a mask keeps of it. A
 * delta may end within a pair of UTF-16, and its half may be that of a letter.
 */
export const shapeOf = (text: string): string =>
  text.replaceAll(/[\p{L}\p{N}\p{M}\p{Cs}]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code >= 0xd800 && code <= 0xdfff) return code < 0xdc00 ? "\ud840" : "\udc00";
    return alphabetOf(char)?.[0] ?? char;
  });
