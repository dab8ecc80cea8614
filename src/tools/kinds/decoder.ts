import { isFields, jsonOf } from "../../json/json.ts";
import { closingQuote } from "../../json/scan.ts";

/** Turns streamed arguments into the input that the client expects. */
export type Decoder = {
  /** Takes a piece of the arguments and returns the input known so far. */
  each(text: string): string;
  /** Ends the call and returns the rest of the input. `complete: false`: the call was cut off. */
  end(complete: boolean): string;
  /** True if the arguments held more than the input can carry. */
  hasMore?(): boolean;
};

/** Converts the input of a call between client and upstream. */
export type Form = {
  /** Converts the input of a past call into what is sent to the upstream. */
  encode(input: string): string;
  /** Converts the arguments of a new call back. */
  decoder(): Decoder;
};

/** A decoder for inputs that are known only when the arguments are complete. */
export function whole(decode: (text: string) => string): Decoder {
  let text = "";
  return {
    each(piece) {
      text += piece;
      return "";
    },
    // A truncated call is not decoded: it must not look like a finished one.
    end: (complete) => (complete ? decode(text) : text),
  };
}

/** Arguments without the string around them, for models that put their JSON in a JSON string. */
export function bareArguments(text: string): string {
  const inner = jsonOf(text);
  if (typeof inner !== "string") return text;
  const value = jsonOf(inner);
  return typeof value === "object" && value !== null ? inner : text;
}

/**
 * Takes the text out of `{"<key>": "<text>"}` while it streams in, reading each
 * character once. Any other text is not an error: models that were asked for
 * JSON and answer in plain text meant the text.
 */
export function unwrapText(key: string): Decoder {
  const head = headMatcher(key);
  const string = stringDecoder();
  let state: Found = "more";
  let held = "";
  return {
    each(text) {
      if (state === "string") return string.each(text);
      if (state === "plain") return text;
      held += text;
      if (state === "whole") return "";
      const { found, rest } = head(text);
      state = found;
      if (found === "string") return string.each(text.slice(rest));
      return found === "plain" ? held : "";
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

const hasOthers = (value: unknown, key: string): boolean =>
  isFields(value) && value[key] !== undefined && Object.keys(value).length > 1;

/** Result of the head matcher; `more` until it can tell. `whole`: other JSON, read at the end. */
type Found = "more" | "string" | "plain" | "whole";

/** Matches `{"<key>":"` with any white space in between; `rest` is the start of the string's content. */
function headMatcher(key: string): (text: string) => { found: Found; rest: number } {
  const expected = `{${JSON.stringify(key)}:"`;
  const open = 1;
  const gaps = new Set([0, open, expected.length - 2, expected.length - 1]);
  let at = 0;
  return (text) => {
    for (let index = 0; index < text.length; index++) {
      const char = text.charAt(index);
      if (char === expected.charAt(at)) {
        if (++at === expected.length) return { found: "string", rest: index + 1 };
        continue;
      }
      if (gaps.has(at) && " \n\t\r".includes(char)) continue;
      // A brace without a key after it begins a text, not an object.
      const isText = at === 0 ? char !== '"' : at === open && char !== "}";
      return { found: isText ? "plain" : "whole", rest: index };
    }
    return { found: "more", rest: text.length };
  };
}

/** The text in complete arguments that did not begin as expected. */
function textInArguments(text: string, key: string): string {
  const value = jsonOf(text);
  if (typeof value === "string") {
    const inner = jsonOf(value);
    const isWrapped = isFields(inner) && Object.keys(inner).length === 1;
    return isWrapped && typeof inner[key] === "string" ? inner[key] : value;
  }
  if (!isFields(value)) return text;
  const inner = value[key];
  if (typeof inner === "string") return inner;
  if (inner !== undefined) return JSON.stringify(inner);
  return Object.keys(value).length === 0 ? "" : text;
}

/**
 * Decodes the content of a JSON string up to its closing quote. Line breaks and unknown escapes,
 * which JSON forbids and models write, are kept as they are.
 */
function stringDecoder(): Decoder & { hasMore(): boolean } {
  /** An escape that may continue in the next fragment. */
  let pending = "";
  let isClosed = false;
  /** The first two characters after the closing quote: `}` alone ends the object. */
  let tail = "";
  return {
    hasMore: () => tail !== "" && tail !== "}",
    each(fragment) {
      const text = pending + fragment;
      const close = isClosed ? -1 : closingQuote(text, 0);
      if (isClosed || close < text.length) {
        isClosed = true;
        if (tail.length < 2)
          tail += text
            .slice(close + 1)
            .trim()
            .slice(0, 2);
      }
      pending = "";
      const content = text.slice(0, Math.max(close, 0));
      let decoded = "";
      let from = 0;
      for (const { 0: escape, index } of content.matchAll(ESCAPE)) {
        decoded += content.slice(from, index);
        from = index;
        if (!isClosed && mayContinue(escape, content.slice(index + escape.length))) {
          pending = content.slice(index);
          return decoded;
        }
        decoded += decodedEscape(escape);
        from += escape.length;
      }
      return decoded + content.slice(from);
    },
    end(complete) {
      const rest = complete && !isClosed ? pending : "";
      pending = "";
      return rest.replace(/^\\u[0-9a-fA-F]{4}/, decodedEscape);
    },
  };
}

/** An escape, or the beginning of one at the end of the text. */
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|u[0-9a-fA-F]{0,3}$|[^]|$)/g;

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", '"': '"', "\\": "\\", "/": "/" }),
);

const decodedEscape = (escape: string): string =>
  escape.length === 6
    ? String.fromCharCode(Number.parseInt(escape.slice(2), 16))
    : (escapes.get(escape.slice(1)) ?? escape);

/** True if the next fragment may change the meaning of an escape. A high surrogate waits for its low one. */
function mayContinue(escape: string, next: string): boolean {
  if (next === "" && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(escape)) return true;
  const isHigh = /^\\u[dD][89abAB]/.test(escape);
  return isHigh && next.length < 6 && /^(\\(u([dD][0-9a-fA-F]*)?)?)?$/.test(next);
}
