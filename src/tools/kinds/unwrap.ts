import { isFields, jsonOf } from "../../json/json.ts";
import type { Decoder } from "./kind.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Takes the text out of `{"<key>": "<text>"}` while it streams in. Each
 * character is looked at once. What is not such an object is not an error:
 * models that were asked for JSON and answer in plain text meant the text.
 */
export function unwrapText(key: string): Decoder {
  const head = headMatcher(key);
  const string = stringDecoder();
  let state: "head" | "string" | "plain" | "whole" = "head";
  let held = "";

  const settle = (found: Exclude<Found, "more">, text: string, rest: number): string => {
    state = found;
    if (found === "string") return string.each(text.slice(rest));
    if (found === "whole") return "";
    const plain = held;
    held = "";
    return plain;
  };

  return {
    each(text) {
      switch (state) {
        case "string":
          return string.each(text);
        case "plain":
          return text;
        case "whole":
          held += text;
          return "";
        case "head": {
          held += text;
          const { found, rest } = head(text);
          return found === "more" ? "" : settle(found, text, rest);
        }
        default:
          return state satisfies never;
      }
    },
    end(complete) {
      if (state === "string") return string.end(complete);
      if (state === "plain" || held === "") return "";
      return complete ? textInArguments(held, key) : state === "whole" ? held : "";
    },
    hasMore: () =>
      state === "string" ? string.hasMore() : state === "whole" && hasOthers(jsonOf(held), key),
  };
}

/** Whether an object holds more than the text that is taken out of it. */
const hasOthers = (value: unknown, key: string): boolean =>
  isFields(value) && value[key] !== undefined && Object.keys(value).length > 1;

type Found = "more" | "string" | "plain" | "whole";

/** Follows `{"<key>":"` through any whitespace; `rest` is where the string's content begins. */
function headMatcher(key: string): (text: string) => { found: Found; rest: number } {
  const expected = `{${JSON.stringify(key)}:"`;
  const [open, colon, value] = [1, expected.length - 2, expected.length - 1];
  let at = 0;
  return (text) => {
    for (let index = 0; index < text.length; index++) {
      const char = text.charAt(index);
      if (char === expected.charAt(at)) {
        if (++at === expected.length) return { found: "string", rest: index + 1 };
        continue;
      }
      const between = at === 0 || at === open || at === colon || at === value;
      if (between && isSpace(char)) continue;
      // A brace that no key follows is not the start of an object, but of a text.
      const isText = at === 0 ? char !== '"' : at === open && char !== "}";
      return { found: isText ? "plain" : "whole", rest: index };
    }
    return { found: "more", rest: text.length };
  };
}

const isSpace = (char: string): boolean =>
  char === " " || char === "\n" || char === "\t" || char === "\r";

/** The text in arguments that are all there but did not begin as expected. */
function textInArguments(whole: string, key: string): string {
  const value = jsonOf(whole);
  if (typeof value === "string") return onlyText(jsonOf(value), key) ?? value;
  // What is no such object is the text itself.
  if (!isFields(value)) return whole;
  const inner = value[key];
  if (typeof inner === "string") return inner;
  if (inner !== undefined) return JSON.stringify(inner);
  return Object.keys(value).length === 0 ? "" : whole;
}

/** The text of an object that holds nothing else. */
function onlyText(value: unknown, key: string): string | undefined {
  if (!isFields(value) || Object.keys(value).length !== 1) return undefined;
  const { [key]: text } = value;
  return typeof text === "string" ? text : undefined;
}

/**
 * Decodes the content of a JSON string up to its closing quote. Line breaks
 * and unknown escapes, which JSON forbids and models write, stand for themselves.
 */
function stringDecoder(): Decoder & { hasMore(): boolean } {
  let pending = "";
  let closed = false;
  /** The first signs behind the closing quote: a brace and nothing else is the end of the object. */
  let tail = "";
  const follow = (text: string): void => {
    if (tail.length < 2) tail += text.trim().slice(0, 2);
  };
  return {
    hasMore: () => tail !== "" && tail !== "}",
    each(fragment) {
      if (closed) {
        follow(fragment);
        return "";
      }
      const text = pending === "" ? fragment : pending + fragment;
      pending = "";
      let out = "";
      let from = 0;
      for (let at = 0; at < text.length;) {
        const code = text.charCodeAt(at);
        if (code === QUOTE) {
          closed = true;
          follow(text.slice(at + 1));
          return out + text.slice(from, at);
        }
        if (code !== BACKSLASH) {
          at++;
          continue;
        }
        out += text.slice(from, at);
        const escape = readEscape(text, at);
        if (escape === undefined) {
          pending = text.slice(at);
          return out;
        }
        out += escape.text;
        at = from = escape.end;
      }
      return out + text.slice(from);
    },
    end(complete) {
      const rest = complete && !closed ? pending : "";
      pending = "";
      return /^\\u[0-9a-fA-F]{4}/.test(rest) ? fromHex(rest) + rest.slice(6) : rest;
    },
  };
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

const fromHex = (escape: string): string =>
  String.fromCharCode(Number.parseInt(escape.slice(2, 6), 16));

/** Reads the escape at a backslash; nothing if more of it may still come. */
function readEscape(text: string, at: number): { text: string; end: number } | undefined {
  const mark = text.charAt(at + 1);
  if (mark === "") return undefined;
  if (mark !== "u") return { text: escapes[mark] ?? `\\${mark}`, end: at + 2 };
  const hex = text.slice(at + 2, at + 6);
  if (!/^[0-9a-fA-F]*$/.test(hex)) return { text: "\\u", end: at + 2 };
  if (hex.length < 4) return undefined;
  const char = fromHex(text.slice(at, at + 6));
  const next = text.slice(at + 6, at + 12);
  // Half a character must not be sent alone if its other half is on the way.
  const halved = char >= "\ud800" && char <= "\udbff";
  if (halved && next.length < 6 && /^(\\(u([dD][0-9a-fA-F]*)?)?)?$/.test(next)) return undefined;
  return { text: char, end: at + 6 };
}
