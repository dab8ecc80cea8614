/** Replaces the letters and digits of texts by others, so that sizes and equality stay. */

import { randomInt } from "node:crypto";

/** Letters and digits that stand for others, by the bytes that they take in UTF-8. */
type Alphabet = { readonly first: number; readonly count: number };

const digits: Alphabet = { first: 0x30, count: 10 };
const letters: Alphabet = { first: 0x61, count: 26 };
const twoBytes: Alphabet = { first: 0x100, count: 0x150 };
const threeBytes: Alphabet = { first: 0x4e00, count: 0x5000 };
const fourBytes: Alphabet = { first: 0x20000, count: 0xa000 };

function alphabetOf(code: number): Alphabet {
  if (code < 0x80) return code < 0x3a ? digits : letters;
  return code < 0x800 ? twoBytes : code < 0x10000 ? threeBytes : fourBytes;
}

const LETTER = /[\p{L}\p{N}\p{M}]/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Longer words, such as images in base64, are not kept. */
const LONGEST_WORD = 40;
/** Masks of one length that are tried before two names may get the same. */
const MOST_TRIES = 64;
/** JavaScript reads and writes a number of so many characters as it is. */
const SAFE_DIGITS = 15;

/** Mixes all bits of a number into all others. */
function mixed(number: number): number {
  let all = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
  all = Math.imul(all ^ (all >>> 13), 0xc2b2ae35);
  return (all ^ (all >>> 16)) >>> 0;
}

/**
 * The mask of one bundle. A masked character depends on the random key of the mask and on its word
 * up to there. So a word that comes in pieces is masked as in one piece, equal words stay equal,
 * and a word that begins with another still does. Case and script are lost.
 */
export class TextMask {
  readonly #seed: number;
  readonly #key: number;
  readonly #words = new Map<string, string>();
  /** Names and ids, and the mask of each. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(random: (below: number) => number = randomInt) {
    this.#seed = random(2 ** 32);
    this.#key = random(2 ** 32);
  }

  text(text: string): string {
    return text.replaceAll(WORD, (word) => {
      if (word.length > LONGEST_WORD) return this.#masked(word, this.#seed);
      let masked = this.#words.get(word);
      if (masked === undefined) this.#words.set(word, (masked = this.#masked(word, this.#seed)));
      return masked;
    });
  }

  /** True if a text that holds this word, or the word with another case, was masked. */
  has(word: string): boolean {
    const lower = word.toLowerCase();
    const forms = [word, lower, word.toUpperCase(), lower.charAt(0).toUpperCase() + lower.slice(1)];
    return word.length > LONGEST_WORD || forms.some((form) => this.#words.has(form));
  }

  /** Masks a name or an id. Different names stay different. */
  name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    let masked = this.text(name);
    for (let tries = 1; this.#taken.has(masked) && tries < MOST_TRIES; tries++)
      masked = name.replaceAll(WORD, (word) => this.#masked(word, mixed(this.#seed + tries)));
    this.#names.set(name, masked);
    this.#taken.add(masked);
    return masked;
  }

  /**
   * Masks a number of JSON, which keeps its length, its exponent and the zeros behind its fraction.
   * A number that is written as JavaScript writes it still is, so that a reader and writer of JSON
   * leaves it alone. Numbers of one digit stay different.
   */
  number(text: string): string {
    const [, core = text, zeros = "", exponent = ""] = NUMBER_PARTS.exec(text) ?? [];
    const masked = this.#digits(core);
    const written = `${core}${exponent}`;
    const isShort = exponent === "" && core.length <= SAFE_DIGITS;
    if (isShort || String(Number(written)) !== written) return masked + zeros + exponent;
    // Most numbers of 16 and 17 digits are written shorter; few neighbours of a small one are.
    const near = Number(`${masked.replace(/[1-9]/, core.match(/[1-9]/)?.[0] ?? "1")}${exponent}`);
    for (let step = 0; step < 200; step++) {
      const own = String(near * (1 + step * Number.EPSILON));
      if (blotOut(own, DIGIT) === blotOut(written, DIGIT) && own.endsWith(exponent))
        return own.slice(0, own.length - exponent.length) + zeros + exponent;
    }
    // The largest and the smallest numbers have no neighbours of their length.
    return text;
  }

  /** A leading zero stays. The first digit of others, and the last of a fraction, become none. */
  #digits(core: string): string {
    const first = core.startsWith("-") ? 1 : 0;
    const last = core.includes(".") ? core.length - 1 : first;
    let state = this.#seed;
    return core.replaceAll(/\d/g, (digit, place: number) => {
      const shift = this.#keyed(state);
      state = mixed(state ^ digit.charCodeAt(0));
      if (place === first && digit === "0") return "0";
      if (place !== first && place !== last) return `${(Number(digit) + shift) % 10}`;
      return `${((Number(digit) + 8 + shift) % 9) + 1}`;
    });
  }

  #keyed(state: number): number {
    return mixed(state ^ this.#key);
  }

  #masked(word: string, seed: number): string {
    let masked = "";
    let state = seed;
    for (const char of word) {
      const code = char.codePointAt(0) ?? 0;
      const { first, count } = alphabetOf(code);
      state = mixed(state ^ code);
      masked += String.fromCodePoint(first + (this.#keyed(state) % count));
    }
    return masked;
  }
}

/** Digits that count, zeros behind them that do not, and the exponent. */
const NUMBER_PARTS = /^(-?\d+(?:\.\d*[1-9])?)(\.?0*)((?:[eE][+-]?\d*)?)$/;
const DIGIT = /\d/g;

/** A stop sequence as texts have it then: of a character that no masked word has. */
export const maskStop = (text: string): string =>
  text.replaceAll(LETTER, (char) => (char < "\x80" ? "_" : blotOut(char)));

/** As many characters and bytes, all alike. */
export const blotOut = (text: string, chars: RegExp = /./gsu): string =>
  text.replaceAll(chars, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return "x";
    return code < 0x800 ? "é" : code < 0x10000 ? "一" : "𠀀";
  });

/** What a mask keeps of a text. Half a pair of UTF-16 may be half a letter: a delta may end within one. */
export const sizesOf = (text: string): string =>
  text.replaceAll(LETTER, (char) => blotOut(char)).replaceAll(/\p{Cs}/gu, "?");
