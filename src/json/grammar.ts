/** Walks text by the grammar of JSON, to the first error in it. */

import { closingQuote, skipBlanks } from "./scan.ts";

/** The position at which a text stops being JSON, and the expected text. */
type JsonErrorPosition = {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
  readonly expected: string;
  /** True if the text is correct but incomplete. */
  readonly atEnd: boolean;
};

/**
 * Finds the error in a text that is not JSON. The engine's own message is not usable: it quotes the
 * text, which only the sender may see, and often has no position.
 */
export function jsonErrorPosition(text: string): JsonErrorPosition | undefined {
  const { flaw } = walkJson(text);
  if (flaw === undefined) return undefined;
  const lines = text.slice(0, flaw.at).split(/\r\n|\r|\n/);
  return {
    line: lines.length,
    column: (lines.at(-1)?.length ?? 0) + 1,
    expected: flaw.expected,
    atEnd: flaw.at >= text.length,
  };
}

type Flaw = { readonly at: number; readonly expected: string };
/** The end of a token, or the error in it. */
type Token = number | Flaw;

/** The expected token; `first`: the closing bracket may come as well. */
type Next = "value" | "first value" | "key" | "first key" | "colon" | "more";

export type JsonToken = "object" | "list" | "close" | "comma" | "key" | "string" | "number";

/** `end`: of the tokens before the error; without one, of the text. */
type Walk = { readonly end: number; readonly flaw?: Flaw | undefined };

/**
 * Calls `each` with the tokens of a text that may be cut off anywhere, and with their offsets:
 * those of keys and strings are without quotes. A string at the cut is given too.
 */
export function walkJson(
  text: string,
  each: (token: JsonToken, start: number, end: number) => void = () => {},
): Walk {
  const closers: ("}" | "]")[] = [];
  let next: Next = "value";
  let at = skipBlanks(text, 0);
  for (; at < text.length || next !== "more" || closers.length > 0; at = skipBlanks(text, at)) {
    const char = text.charAt(at);
    const closer = closers.at(-1);
    const wrong = (expected: string): Walk => ({ end: at, flaw: { at, expected } });
    let end: Token = at + 1;
    let token: JsonToken | undefined;
    if (char === closer && (next === "more" || next.startsWith("first"))) {
      closers.pop();
      token = "close";
      next = "more";
    } else if (next === "more") {
      if (closer === undefined) return wrong("the end of the text");
      if (char !== ",") return wrong(`"," or "${closer}"`);
      token = "comma";
      next = closer === "}" ? "key" : "value";
    } else if (next === "colon") {
      if (char !== ":") return wrong('":"');
      next = "value";
    } else if (next === "key" || next === "first key") {
      if (char !== '"') return wrong("a key in double quotes");
      end = stringEnd(text, at);
      token = "key";
      next = "colon";
    } else if (char === "{" || char === "[") {
      closers.push(char === "{" ? "}" : "]");
      token = char === "{" ? "object" : "list";
      next = char === "{" ? "first key" : "first value";
    } else {
      end = scalarEnd(text, at);
      token = char === '"' ? "string" : char === "-" || isDigit(char) ? "number" : undefined;
      next = "more";
    }
    if (typeof end !== "number") {
      const isCut = char === '"' && end.at >= text.length;
      if (isCut && token !== undefined) each(token, at + 1, text.length);
      return { end: isCut ? text.length : at, flaw: end };
    }
    if (token !== undefined) each(token, char === '"' ? at + 1 : at, char === '"' ? end - 1 : end);
    at = end;
  }
  return { end: text.length };
}

function scalarEnd(text: string, at: number): Token {
  const char = text.charAt(at);
  if (char === '"') return stringEnd(text, at);
  if (char === "-" || isDigit(char)) return numberEnd(text, at);
  const word = ["true", "false", "null"].find((one) => one.charAt(0) === char && char !== "");
  if (word === undefined) return { at, expected: "a value" };
  for (let from = 0; from < word.length; from++)
    if (text.charAt(at + from) !== word.charAt(from))
      return { at: at + from, expected: `\`${word}\`` };
  return at + word.length;
}

/** Characters of a string that need a look. */
const SPECIAL = new RegExp(String.raw`[\\\0-\x1f]`, "g");

function stringEnd(text: string, at: number): Token {
  const quote = closingQuote(text, at + 1);
  const content = text.slice(at + 1, quote);
  SPECIAL.lastIndex = 0;
  for (let found = SPECIAL.exec(content); found !== null; found = SPECIAL.exec(content)) {
    let place = at + 1 + found.index;
    if (found[0] !== "\\")
      return { at: place, expected: "an escape such as \\n for a line break or the like" };
    const escaped = text.charAt(++place);
    SPECIAL.lastIndex++;
    if (escaped === "u") {
      for (const last = place + 4; place < last;)
        if (!/^[0-9a-fA-F]$/.test(text.charAt(++place)))
          return { at: place, expected: "four hexadecimal digits after \\u" };
    } else if (escaped !== "" && !'"\\/bfnrt'.includes(escaped))
      return { at: place, expected: 'one of " \\ / b f n r t u after a backslash' };
  }
  if (quote < text.length) return quote + 1;
  return { at: text.length, expected: "the end of a string" };
}

/** A number, or its beginning up to a digit that is missing. */
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?/y;

function numberEnd(text: string, at: number): Token {
  NUMBER.lastIndex = at;
  NUMBER.test(text);
  const { lastIndex: end } = NUMBER;
  return isDigit(text.charAt(end - 1)) ? end : { at: end, expected: "a digit" };
}

const isDigit = (char: string): boolean => char >= "0" && char <= "9";
