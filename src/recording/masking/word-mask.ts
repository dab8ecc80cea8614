/** Puts other letters and digits in the place of those of a text, word by word. */

/** From 0 up to 1. */
export type Random = () => number;

/** One way that a word may begin; `seed` decides what its last character becomes. */
type Prefix = { readonly seed: number; readonly next: Map<string, Prefix> };

/** Letters by their case and the bytes they take in UTF-8, so that no size changes. */
const alphabets = {
  lower: letters(0x61, 0x7a),
  upper: letters(0x41, 0x5a),
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
    this.#root = this.#prefix();
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
        at = this.#root;
        depth = 0;
        continue;
      }
      if (depth < DEEPEST) {
        at = this.#after(at, char);
        sum = at.seed;
      } else sum = (Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x9e3779b1) >>> 0) ^ (sum >>> 13);
      depth++;
      masked += alphabet[(sum >>> 0) % alphabet.length] ?? char;
    }
    return masked;
  }

  /** A number of JSON: it stays one, with as many digits, and its exponent stays. */
  number(text: string): string {
    const [digits = "", ...exponent] = text.split(/(?=e)/i);
    let isFirst = true;
    const masked = this.text(digits).replaceAll(/\d/g, (digit, place: number) => {
      const was = digits[place] ?? digit;
      const isLeading = isFirst;
      isFirst = false;
      return isLeading ? (was === "0" ? "0" : digit === "0" ? "1" : digit) : digit;
    });
    return masked + exponent.join("");
  }

  #prefix(): Prefix {
    return { seed: Math.floor(this.#random() * 0x1_0000_0000), next: new Map() };
  }

  #after(prefix: Prefix, char: string): Prefix {
    const known = prefix.next.get(char);
    if (known !== undefined) return known;
    const made = this.#prefix();
    prefix.next.set(char, made);
    return made;
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

/** The same number of characters and bytes, all of them alike. */
export const blotOut = (text: string): string =>
  text.replaceAll(/./gsu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return "x";
    return code < 0x800 ? "é" : code < 0x10000 ? "一" : "𠀀";
  });

/** A text with every letter and digit as its class alone: what a mask keeps of it. */
export const shapeOf = (text: string): string =>
  text.replaceAll(/[\p{L}\p{N}\p{M}]/gu, (char) => alphabetOf(char)?.[0] ?? char);
