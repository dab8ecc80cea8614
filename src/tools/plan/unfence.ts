import type { Decoder } from "../kinds/kind.ts";

const FENCE = "```";

/**
 * Takes a code fence off JSON while it streams in: models that are asked for
 * nothing but JSON like to put one around it, and words behind that. A text
 * without a fence goes through as it is.
 */
export function unfence(): Decoder {
  let state: "head" | "plain" | "fenced" | "over" = "head";
  /** At first what may be the opening of a fence, later what may be its end. */
  let held = "";

  const take = (text: string): string => {
    const whole = held + text;
    // JSON holds no line that begins with a fence, not even in its strings.
    const close = whole.indexOf(`\n${FENCE}`);
    if (close !== -1) {
      state = "over";
      held = "";
      return whole.slice(0, close);
    }
    let end = whole.length;
    while (end > 0 && "` \n\r\t".includes(whole.charAt(end - 1))) end--;
    held = whole.slice(end);
    return whole.slice(0, end);
  };
  const open = (): string => {
    const opening = /^\s*```[\w-]*[ \t]*\r?\n/.exec(held);
    if (opening !== null) {
      state = "fenced";
      const rest = held.slice(opening[0].length);
      held = "";
      return take(rest);
    }
    if (/^\s*(`{0,2}|```[\w-]*[ \t]*\r?)$/.test(held)) return "";
    state = "plain";
    return held;
  };
  return {
    each(text) {
      switch (state) {
        case "plain":
          return text;
        case "fenced":
          return take(text);
        case "over":
          return "";
        case "head":
          held += text;
          return open();
        default:
          return state satisfies never;
      }
    },
    end() {
      const isEnd = state === "fenced" && held.includes(FENCE);
      return isEnd || state === "plain" || state === "over" ? "" : held;
    },
  };
}
