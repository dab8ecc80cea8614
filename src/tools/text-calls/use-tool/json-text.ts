import { isFields, jsonOf } from "../../../turn/json.ts";
import { isSpace } from "./text.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A key of an object and the JSON text of its value. */
export type Member = readonly [key: string, value: string];

/**
 * The members of an object in JSON text, in their order and as often as they
 * are there, each value as it is written: a number keeps all its digits.
 * Nothing if the text is no object.
 */
export function membersOf(text: string): readonly Member[] | undefined {
  if (!isFields(jsonOf(text))) return undefined;
  const members: Member[] = [];
  let at = text.indexOf("{") + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    // Behind the last value no more quotes follow.
    if (quote === -1) return members;
    const end = stringEnd(text, quote);
    const from = text.indexOf(":", end) + 1;
    at = valueEnd(text, from);
    members.push([jsonOf(text.slice(quote, end)) as string, compact(text.slice(from, at))]);
  }
}

/** JSON text as `JSON.stringify` has it, but for numbers, which stay as they are. */
export function compact(text: string): string {
  let out = "";
  let from = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code !== QUOTE && !isSpace(code)) {
      at++;
      continue;
    }
    out += text.slice(from, at);
    from = code === QUOTE ? stringEnd(text, at) : at + 1;
    if (code === QUOTE) out += JSON.stringify(jsonOf(text.slice(at, from)));
    at = from;
  }
  return out + text.slice(from);
}

/** Where the string that begins at a quote is over. */
function stringEnd(text: string, quote: number): number {
  for (let at = quote + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** Where a value of an object is over: at the comma or brace behind it. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    switch (text.charAt(at)) {
      case '"':
        at = stringEnd(text, at) - 1;
        break;
      case "{":
      case "[":
        depth++;
        break;
      case "}":
      case "]":
        if (depth-- === 0) return at;
        break;
      case ",":
        if (depth === 0) return at;
        break;
      default:
    }
  }
  return text.length;
}
