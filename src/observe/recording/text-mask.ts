/** Replaces the letters and digits of texts by others of the same size. */

import { randomInt } from "node:crypto";

/** The letters or digits that replace a character: the first one and their number. All take as many bytes in UTF-8 as the character. */
function alphabetOf(code: number): readonly [first: number, count: number] {
  if (code < 0x80) return code < 0x3a ? [0x30, 10] : [0x61, 26];
  if (code < 0x800) return [0x100, 0x150];
  return code < 0x10000 ? [0x4e00, 0x5000] : [0x20000, 0xa000];
}

const LETTER = /[\p{L}\p{N}\p{M}]/gu;
export const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Longer words, such as images in base64, are not kept. */
const LONGEST_WORD = 40;
/** Masks of one length that are tried before two names may get the same, or a number stays. */
const MOST_TRIES = 64;

/** Mixes all bits of a number into all others. */
function mixed(number: number): number {
  let all = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
  all = Math.imul(all ^ (all >>> 13), 0xc2b2ae35);
  return (all ^ (all >>> 16)) >>> 0;
}

/**
 * The mask of one bundle. A masked character depends on a random key and on the text up to it, so
 * equal texts stay equal, different ones differ, and a text that begins with another still does.
 * The gateway thus finds the same repeated calls and the same cumulative texts.
 */
export class TextMask {
  readonly #seed: number;
  readonly #key: number;
  /** The words of all masked texts, in lower case. */
  readonly #words = new Set<string>();
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(random: (below: number) => number = randomInt) {
    this.#seed = random(2 ** 32);
    this.#key = random(2 ** 32);
  }

  text(text: string): string {
    for (const [word] of text.matchAll(WORD))
      if (word.length <= LONGEST_WORD) this.#words.add(word.toLowerCase());
    return this.#masked(text, this.#seed);
  }

  /** True if a text that holds this word was masked, or may have been. */
  has(word: string): boolean {
    return word.length > LONGEST_WORD || this.#words.has(word.toLowerCase());
  }

  /** Masks a name or an id. Different names stay different. */
  name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    let masked = this.text(name);
    for (let tries = 1; this.#taken.has(masked) && tries < MOST_TRIES; tries++)
      masked = this.#masked(name, mixed(this.#seed + tries));
    this.#names.set(name, masked);
    this.#taken.add(masked);
    return masked;
  }

  /**
   * Masks the digits of a JSON number but its zeros and its exponent. A number that is written as
   * JavaScript writes it still is, so that a reader and writer of JSON leaves it alone. Numbers of
   * one digit stay different.
   */
  number(text: string): string {
    const [core = ""] = /^[^eE]*/.exec(text) ?? [];
    const exponent = text.slice(core.length);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      let state = mixed(this.#seed + tries);
      const masked = core.replaceAll(/[1-9]/g, (digit) => {
        const shift = mixed(state ^ this.#key);
        state = mixed(state ^ digit.charCodeAt(0));
        return `${((Number(digit) + (shift % 8)) % 9) + 1}`;
      });
      if (!isWritten(text) || isWritten(masked + exponent)) return masked + exponent;
    }
    // The largest and the smallest numbers have few neighbors of their length.
    return text;
  }

  #masked(text: string, seed: number): string {
    let state = seed;
    return text.replaceAll(LETTER, (char) => {
      const code = char.codePointAt(0) ?? 0;
      const [first, count] = alphabetOf(code);
      state = mixed(state ^ code);
      const place = mixed(state ^ this.#key) % count;
      const masked = String.fromCodePoint(first + place);
      // A letter is never replaced by itself.
      if (masked !== char.toLowerCase()) return masked;
      return String.fromCodePoint(first + ((place + 1) % count));
    });
  }
}

/** True for a number as JavaScript writes it. */
const isWritten = (number: string): boolean => String(Number(number)) === number;

/** The mask of a stop sequence, in texts too: it consists of a character that no masked word has. */
export const maskStop = (text: string): string =>
  text.replaceAll(LETTER, (char) => (char < "\x80" ? "_" : blotOut(char)));

/** As many equal characters, with the same number of bytes. */
export const blotOut = (text: string, chars: RegExp = /./gsu): string =>
  text.replaceAll(chars, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code < 0x80 ? "x" : String.fromCodePoint(alphabetOf(code)[0]);
  });

/** The part of a text that a mask keeps. Half a pair of UTF-16 may be half a letter, because a delta may end within one. */
export const sizesOf = (text: string): string =>
  text.replaceAll(LETTER, (char) => blotOut(char)).replaceAll(/\p{Cs}/gu, "?");
