/** Finds values in JSON text by their offsets. */

import { jsonOf } from "./json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

/** Keys and most values are so short that a search costs more than a loop. */
const NEAR = 24;

/**
 * Follows a JSON value that comes in pieces, split anywhere: the number of open
 * brackets, and whether a string is open. It reads every character once and
 * does not check the grammar.
 */
export class JsonScanner {
  #depth = 0;
  #opened = false;
  #quoted = false;
  #escaped = false;

  /**
   * Reads a piece from an offset. Returns the offset after the bracket or quote
   * that closes the value; -1 while the value is open or has not begun.
   */
  scan(piece: string, from = 0): number {
    let depth = this.#depth;
    let at = from;
    if (this.#quoted) {
      at = this.#stringEnd(piece, at);
      if (at === -1 || depth === 0) return at;
    }
    for (; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (code === QUOTE) {
        const end = this.#stringEnd(piece, at + 1);
        if (end === -1) break;
        if (depth === 0) return end;
        at = end - 1;
      } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
        depth++;
        this.#opened = true;
      } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
        // A bracket that closes nothing ends a text that is not JSON.
        if (--depth > 0) continue;
        this.#depth = depth;
        return at + 1;
      }
    }
    this.#depth = depth;
    return -1;
  }

  /** Reads all of a piece, also after the end of a value. */
  follow(piece: string): void {
    for (let at = 0; at !== -1;) at = this.scan(piece, at);
  }

  reset(): void {
    this.#depth = 0;
    this.#opened = false;
    this.#quoted = false;
    this.#escaped = false;
  }

  /** True while a bracket is open. */
  isOpen(): boolean {
    return this.#depth > 0;
  }

  /** True if there was a bracket and all are closed again. */
  isClosed(): boolean {
    return this.#opened && this.#depth <= 0;
  }

  /** The offset after the quote that closes the string; -1 if the string continues in the next piece. */
  #stringEnd(piece: string, from: number): number {
    const start = this.#escaped ? from + 1 : from;
    const quote = closingQuote(piece, start);
    this.#quoted = quote >= piece.length;
    if (!this.#quoted) {
      this.#escaped = false;
      return quote + 1;
    }
    const slashes = backslashesBefore(piece, piece.length, start);
    this.#escaped = start > piece.length || slashes % 2 === 1;
    return -1;
  }
}

/** The number of backslashes directly before an offset. */
function backslashesBefore(text: string, end: number, from: number): number {
  let at = end;
  while (at > from && text.charCodeAt(at - 1) === BACKSLASH) at--;
  return end - at;
}

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const TAB = 0x09;

export function skipBlanks(text: string, from: number): number {
  for (let at = from; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) return at;
  }
}

/** The offset of the quote that closes the string whose content begins at `from`, or the end of the text. */
export function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length;) {
    for (const near = Math.min(text.length, at + NEAR); at < near; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at++;
    }
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    if (backslashesBefore(text, quote, at) % 2 === 0) return quote;
    at = quote + 1;
  }
  return text.length;
}

// The functions below read text that is known to be JSON.

/** One scanner for all calls: each ends before the next begins. */
const scanner = new JsonScanner();

/** The offset after the value that begins at `from`. */
export function valueEnd(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code === QUOTE) return Math.min(closingQuote(text, from + 1) + 1, text.length);
  if (code === OPEN_LIST || code === OPEN_OBJECT) {
    scanner.reset();
    const end = scanner.scan(text, from);
    return end === -1 ? text.length : end;
  }
  let end = from;
  while (end < text.length && !endsScalar(text.charCodeAt(end))) end++;
  return end;
}

const endsScalar = (code: number): boolean =>
  code === COMMA ||
  code === CLOSE_LIST ||
  code === CLOSE_OBJECT ||
  code === SPACE ||
  code === LINE_FEED ||
  code === RETURN ||
  code === TAB;

/** The offsets of a value. */
export type Span = { readonly from: number; readonly end: number };

/** A value of an object, with its key and the offset of the key. */
export type Member = Span & { readonly key: string; readonly at: number };

/** The first member of the object that begins at `from`. `known`: the span of a value that is not read again. */
export function firstMember(text: string, from = 0, known?: Span): Member | undefined {
  const start = skipBlanks(text, from);
  return text.charCodeAt(start) === OPEN_OBJECT
    ? memberFrom(text, skipBlanks(text, start + 1), known)
    : undefined;
}

/** The member after the one that ends at `end`. */
export const nextMember = (text: string, end: number, known?: Span): Member | undefined =>
  // After the comma, or after the object.
  memberFrom(text, skipBlanks(text, skipBlanks(text, end) + 1), known);

function memberFrom(text: string, at: number, known: Span | undefined): Member | undefined {
  if (text.charCodeAt(at) !== QUOTE) return undefined;
  const keyEnd = valueEnd(text, at);
  const from = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
  const end = from === known?.from ? known.end : valueEnd(text, from);
  const literal = text.slice(at, keyEnd);
  const key = literal.includes("\\") ? String(jsonOf(literal)) : literal.slice(1, -1);
  return { key, at, from, end };
}

/** The members of the object that begins at `from`, in their order; a repeated key is given again. */
export function* membersOf(text: string, from = 0): Generator<Member> {
  for (let one = firstMember(text, from); one; one = nextMember(text, one.end)) yield one;
}
