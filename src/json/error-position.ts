import { skipBlanks } from "./scan.ts";

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
  const flaw = scan(text);
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

function scan(text: string): Flaw | undefined {
  const closers: ("}" | "]")[] = [];
  let next: Next = "value";
  let at = skipBlanks(text, 0);
  for (; at < text.length || next !== "more" || closers.length > 0; at = skipBlanks(text, at)) {
    const char = text.charAt(at);
    const closer = closers.at(-1);
    let end: Token = at + 1;
    if (char === closer && (next === "more" || next.startsWith("first"))) {
      closers.pop();
      next = "more";
    } else if (next === "more") {
      if (closer === undefined) return { at, expected: "the end of the text" };
      if (char !== ",") return { at, expected: `"," or "${closer}"` };
      next = closer === "}" ? "key" : "value";
    } else if (next === "colon") {
      if (char !== ":") return { at, expected: '":"' };
      next = "value";
    } else if (next === "key" || next === "first key") {
      if (char !== '"') return { at, expected: "a key in double quotes" };
      end = stringEnd(text, at);
      next = "colon";
    } else if (char === "{" || char === "[") {
      closers.push(char === "{" ? "}" : "]");
      next = char === "{" ? "first key" : "first value";
    } else {
      end = scalarEnd(text, at);
      next = "more";
    }
    if (typeof end !== "number") return end;
    at = end;
  }
  return undefined;
}

function scalarEnd(text: string, at: number): Token {
  const char = text.charAt(at);
  if (char === '"') return stringEnd(text, at);
  if (/^[-\d]$/.test(char)) return numberEnd(text, at);
  const word = ["true", "false", "null"].find((one) => one.charAt(0) === char && char !== "");
  if (word === undefined) return { at, expected: "a value" };
  for (let from = 0; from < word.length; from++)
    if (text.charAt(at + from) !== word.charAt(from))
      return { at: at + from, expected: `\`${word}\`` };
  return at + word.length;
}

function stringEnd(text: string, at: number): Token {
  for (at++; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') return at + 1;
    if (char < " ") return { at, expected: "an escape such as \\n for a line break or the like" };
    if (char !== "\\") continue;
    at++;
    if (text.charAt(at) === "u") {
      for (const last = at + 4; at < last;)
        if (!/^[0-9a-fA-F]$/.test(text.charAt(++at)))
          return { at, expected: "four hexadecimal digits after \\u" };
    } else if (at < text.length && !'"\\/bfnrt'.includes(text.charAt(at)))
      return { at, expected: 'one of " \\ / b f n r t u after a backslash' };
  }
  return { at: text.length, expected: "the end of a string" };
}

/** A number up to its last digit; its fraction and exponent are groups. */
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

function numberEnd(text: string, at: number): Token {
  NUMBER.lastIndex = at;
  const [number = "", fraction, exponent] = NUMBER.exec(text) ?? [];
  const end = at + number.length;
  if (exponent !== undefined) return end;
  // A minus, a point or an exponent that no digit follows.
  const open = number === "" ? /^-/ : fraction === undefined ? /^(?:\.|[eE][+-]?)/ : /^[eE][+-]?/;
  const [found] = open.exec(text.slice(end, end + 2)) ?? [];
  return found === undefined ? end : { at: end + found.length, expected: "a digit" };
}
