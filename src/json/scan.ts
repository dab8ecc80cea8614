import { jsonOf } from "./json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

const NEAR = 24;

/**
 * Follows a JSON value that comes in pieces, split anywhere: how many brackets
 * are open, and whether a string is. Every character is looked at once. Grammar
 * is not checked: whoever needs that parses what was found.
 */
export class JsonScanner {
  #depth = 0;
  #opened = false;
  #quoted = false;
  #escaped = false;

  /**
   * Goes on by a piece, from a place in it. Gives the place behind the bracket
   * or quote that closes the value, -1 while it is open or has not begun.
   */
  scan(piece: string, from = 0): number {
    let depth = this.#depth;
    let at = from;
    if (this.#quoted) {
      at = this.#stringEnd(piece, at);
      if (at === -1) return -1;
      if (depth === 0) return at;
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
        // One that closes nothing ends what is no JSON.
        if (--depth > 0) continue;
        this.#depth = depth;
        return at + 1;
      }
    }
    this.#depth = depth;
    return -1;
  }

  /** Goes on by all of a piece, whatever it closes on the way. */
  follow(piece: string): void {
    for (let at = 0; at !== -1;) at = this.scan(piece, at);
  }

  /** Forgets what it followed. */
  reset(): void {
    this.#depth = 0;
    this.#opened = false;
    this.#quoted = false;
    this.#escaped = false;
  }

  /** Whether a bracket is open. */
  isOpen(): boolean {
    return this.#depth > 0;
  }

  /** Whether every bracket is closed again, and there was one. */
  isClosed(): boolean {
    return this.#opened && this.#depth <= 0;
  }

  /** Behind the quote that closes the string; -1 if it goes on in the next piece. */
  #stringEnd(piece: string, from: number): number {
    let at = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    // Keys and most values are shorter than a search is worth.
    for (const near = Math.min(piece.length, at + NEAR); at < near; at++) {
      const code = piece.charCodeAt(at);
      if (code === QUOTE) {
        this.#quoted = false;
        return at + 1;
      }
      if (code === BACKSLASH) at++;
    }
    if (at > piece.length) this.#escaped = true;
    for (; at < piece.length;) {
      const quote = piece.indexOf('"', at);
      const end = quote === -1 ? piece.length : quote;
      let slash = end;
      while (slash > at && piece.charCodeAt(slash - 1) === BACKSLASH) slash--;
      const isEscaped = (end - slash) % 2 === 1;
      if (quote !== -1 && !isEscaped) {
        this.#quoted = false;
        return quote + 1;
      }
      if (quote === -1) this.#escaped = isEscaped;
      at = end + 1;
    }
    this.#quoted = true;
    return -1;
  }
}

/** What JSON takes for a blank. */
const isBlank = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

export function skipBlanks(text: string, at: number): number {
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** Where the string ends whose content begins at `from`: the place of its closing quote, or the end of a text that has none. */
export function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length;) {
    // Keys and most values are shorter than a search is worth.
    for (const near = Math.min(text.length, at + NEAR); at < near; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      if (code === BACKSLASH) at++;
    }
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let slash = quote;
    while (slash > at && text.charCodeAt(slash - 1) === BACKSLASH) slash--;
    if ((quote - slash) % 2 === 0) return quote;
    at = quote + 1;
  }
  return text.length;
}

// What follows walks text that is known to be JSON.

/** One for all walks: each is over before the next begins. */
const scanner = new JsonScanner();

/** Behind the value that begins at `from`. */
export function valueEnd(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code === QUOTE || code === OPEN_LIST || code === OPEN_OBJECT) {
    scanner.reset();
    const end = scanner.scan(text, from);
    return end === -1 ? text.length : end;
  }
  let end = from;
  while (end < text.length && !isBehindScalar(text.charCodeAt(end))) end++;
  return end;
}

const isBehindScalar = (code: number): boolean =>
  code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || isBlank(code);

/** Where a value stands. */
export type Span = { readonly from: number; readonly end: number };

/** A value of an object, and its key with the place where that begins. */
export type Member = Span & { readonly key: string; readonly at: number };

/** The first member of the object that begins at `from`. `known` is the span of a value that is not walked again. */
export function firstMember(text: string, from = 0, known?: Span): Member | undefined {
  const start = skipBlanks(text, from);
  return text.charCodeAt(start) === OPEN_OBJECT
    ? memberFrom(text, skipBlanks(text, start + 1), known)
    : undefined;
}

/** The member behind one that ends there; none behind the last. */
export const nextMember = (text: string, end: number, known?: Span): Member | undefined =>
  // Behind the comma, or behind the object.
  memberFrom(text, skipBlanks(text, skipBlanks(text, end) + 1), known);

function memberFrom(text: string, at: number, known: Span | undefined): Member | undefined {
  if (text.charCodeAt(at) !== QUOTE) return undefined;
  const keyEnd = valueEnd(text, at);
  const from = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
  const end = from === known?.from ? known.end : valueEnd(text, from);
  return { key: keyOf(text.slice(at, keyEnd)), at, from, end };
}

/** The members of the object that begins at `from`, in their order and as often as they are there. */
export function* membersOf(text: string, from = 0): Generator<Member> {
  for (let one = firstMember(text, from); one; one = nextMember(text, one.end)) yield one;
}

const keyOf = (literal: string): string =>
  literal.includes("\\") ? String(jsonOf(literal)) : literal.slice(1, -1);

/** The entries of the list that begins at `from`. */
export function* entriesOf(text: string, from = 0): Generator<Span> {
  let at = skipBlanks(text, from);
  if (text.charCodeAt(at) !== OPEN_LIST) return;
  for (at = skipBlanks(text, at + 1); at < text.length && text.charCodeAt(at) !== CLOSE_LIST;) {
    const end = valueEnd(text, at);
    yield { from: at, end };
    const behind = skipBlanks(text, end);
    if (text.charCodeAt(behind) !== COMMA) return;
    at = skipBlanks(text, behind + 1);
  }
}

/** Where the value under a path of keys and numbers stands. Of a key that is there twice the last one counts. */
export function spanAt(text: string, path: readonly string[]): Span | undefined {
  const start = skipBlanks(text, 0);
  let span: Span | undefined = { from: start, end: valueEnd(text, start) };
  for (const step of path) {
    if (span === undefined) return undefined;
    span =
      text.charCodeAt(span.from) === OPEN_LIST
        ? entryAt(text, span.from, Number(step))
        : memberAt(text, span.from, step);
  }
  return span;
}

export function memberAt(text: string, from: number, key: string): Span | undefined {
  let found: Span | undefined;
  for (let one = firstMember(text, from); one; one = nextMember(text, one.end))
    if (one.key === key) found = one;
  return found;
}

function entryAt(text: string, from: number, place: number): Span | undefined {
  let at = 0;
  for (const entry of entriesOf(text, from)) if (at++ === place) return entry;
  return undefined;
}
