import { isFields, jsonOf } from "../../../turn/json.ts";
import { membersOf as spansOf, valueEnd } from "../../../turn/json-scan.ts";
import { isSpace } from "./text.ts";

const QUOTE = 0x22;

/** A key of an object and the JSON text of its value. */
export type Member = readonly [key: string, value: string];

/**
 * The members of an object in JSON text, in their order and as often as they
 * are there, each value as it is written: a number keeps all its digits.
 * Nothing if the text is no object.
 */
export function membersOf(text: string): readonly Member[] | undefined {
  if (!isFields(jsonOf(text))) return undefined;
  return [...spansOf(text)].map(({ key, from, end }) => [key, compact(text.slice(from, end))]);
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
    from = code === QUOTE ? valueEnd(text, at) : at + 1;
    if (code === QUOTE) out += JSON.stringify(jsonOf(text.slice(at, from)));
    at = from;
  }
  return out + text.slice(from);
}
