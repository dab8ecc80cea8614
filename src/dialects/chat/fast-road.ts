import type { Emit } from "../../stream/stage.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf } from "../loose.ts";
import type { FrameLane } from "./frame-lane.ts";
import type { ChoiceReader, Spoken } from "./read-choice.ts";

/**
 * Most frames differ from the one before in the text of one delta alone. A
 * template is a frame with a hole where that text stands; a frame that fits it
 * means the same but for the text, and need not be parsed.
 */
export type Template = {
  readonly head: string;
  /** From the quote behind the text to the end, or to the padding. */
  readonly middle: string;
  /** From the quote behind the padding, where frames are padded to hide their length. */
  readonly tail: string | undefined;
};

/** What stands in the holes of a probe: nothing an upstream would say. */
const MARK = "\u{f0000}hole\u{f0001}";
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export type FastRoad = {
  /** Takes a frame that needs no parsing. */
  take(
    data: string,
    name: string | undefined,
    lane: FrameLane,
    emit: Emit<TurnEvent<UpstreamName>>,
  ): boolean;
  learn(frame: Frame, raw: Fields, choice: ChoiceReader | undefined): void;
};

/** Keeps the template of the last parsed frame; any other parsed frame may have changed what it means. */
export function fastRoad(fast: boolean): FastRoad {
  let template: Template | undefined;
  let choice: ChoiceReader | undefined;
  let spoken: Spoken | undefined;
  let regular = true;
  // Where frames never fit, templates are tried ever more seldom.
  let pause = 0;
  let rest = 0;

  return {
    take(data, name, lane, emit) {
      if (template === undefined || choice === undefined || spoken === undefined) return false;
      const text = name === undefined ? fit(template, data) : undefined;
      if (text === undefined || text === "") {
        template = undefined;
        return false;
      }
      pause = 0;
      rest = 0;
      choice.more(spoken, text, emit);
      lane.each({ type: "frame", data, regular }, false, emit);
      return true;
    },
    learn(frame, raw, from) {
      const said = fast ? from?.spoken() : undefined;
      if (said === undefined || rest-- > 0) return;
      rest = pause;
      pause = Math.min(pause * 2 + 1, 63);
      template = learn(frame.data, raw, said);
      choice = from;
      spoken = said;
      regular = frame.regular;
    },
  };
}

/** Makes a template of a frame that did nothing but to say `text`. */
export function learn(data: string, raw: Fields, spoken: Spoken): Template | undefined {
  const place = placeOf(raw, spoken);
  if (place === undefined) return undefined;
  const key = `"${place.at(-1)}"`;
  for (let at = data.indexOf(key); at !== -1; at = data.indexOf(key, at + 1)) {
    const from = valueStart(data, at + key.length);
    if (from === -1) continue;
    const to = literalEnd(data, from);
    if (to === -1) continue;
    const template = withPadding(data.slice(0, from), data.slice(to), raw);
    if (template !== undefined && isSound(template, place)) return template;
  }
  return undefined;
}

/** The text in the hole, if the frame fits the template; else it has to be parsed. */
export function fit({ head, middle, tail }: Template, data: string): string | undefined {
  const from = head.length;
  // Comparing slices takes a fifth of the time of `startsWith`.
  if (data.slice(0, from) !== head) return undefined;
  let to = from;
  let escaped = false;
  for (; ; to++) {
    const char = data.charCodeAt(to);
    if (char === QUOTE) break;
    if (char === BACKSLASH) {
      escaped = true;
      to++;
      // Neither a control character nor, past the end, NaN may stand in a string.
    } else if (!(char >= 0x20)) return undefined;
  }
  if (tail === undefined) {
    if (data.slice(to) !== middle) return undefined;
  } else {
    const padding = to + middle.length;
    if (data.slice(to, padding) !== middle) return undefined;
    const end = paddingEnd(data, padding);
    if (end === -1 || data.slice(end) !== tail) return undefined;
  }
  return escaped ? unescape(data.slice(from, to)) : data.slice(from, to);
}

function unescape(literal: string): string | undefined {
  try {
    return JSON.parse(`"${literal}"`) as string;
  } catch {
    return undefined; // Not a lawful escape: the slow road says what that means.
  }
}

/** Where in the frame the text stands. */
function placeOf(raw: Fields, spoken: Spoken): readonly string[] | undefined {
  const delta = fieldsOf(fieldsOf(listOf(raw.choices)?.[0])?.delta);
  const inDelta = ["choices", "0", "delta"];
  switch (spoken.type) {
    case "text-delta":
      return delta?.content === spoken.text ? [...inDelta, "content"] : undefined;
    case "refusal-delta":
      return [...inDelta, "refusal"];
    case "reasoning-delta": {
      const key = ["reasoning_content", "reasoning"].find((one) => delta?.[one] === spoken.text);
      return key === undefined ? undefined : [...inDelta, key];
    }
    case "call-delta": {
      const [entry, ...others] = listOf(delta?.tool_calls) ?? [];
      const call = others.length === 0 ? fieldsOf(entry) : undefined;
      const inCall = [...inDelta, "tool_calls", "0"];
      if (fieldsOf(call?.function)?.arguments === spoken.text)
        return [...inCall, "function", "arguments"];
      return fieldsOf(call?.custom)?.input === spoken.text
        ? [...inCall, "custom", "input"]
        : undefined;
    }
    default:
      return spoken satisfies never;
  }
}

function withPadding(head: string, rest: string, raw: Fields): Template | undefined {
  if (raw.obfuscation === undefined) return { head, middle: rest, tail: undefined };
  const key = '"obfuscation"';
  const at = rest.lastIndexOf(key);
  const from = at === -1 ? -1 : valueStart(rest, at + key.length);
  const to = from === -1 ? -1 : literalEnd(rest, from);
  return to === -1 ? undefined : { head, middle: rest.slice(0, from), tail: rest.slice(to) };
}

/**
 * Whether the holes are where we think: the same words may stand anywhere in a
 * frame. The rest of a frame that fits is the very text of this one, so it is
 * enough that this one with other strings in the holes has them in these places.
 */
function isSound({ head, middle, tail }: Template, place: readonly string[]): boolean {
  let probe: unknown;
  try {
    probe = JSON.parse(head + MARK + middle + (tail === undefined ? "" : MARK + tail));
  } catch {
    return false; // What was taken for a string was part of another.
  }
  if (tail !== undefined && fieldsOf(probe)?.obfuscation !== MARK) return false;
  for (const key of place) probe = (probe as Record<string, unknown> | undefined)?.[key];
  return probe === MARK;
}

/** Behind the quote that opens the value of a key that ends at `at`. */
function valueStart(data: string, at: number): number {
  at = skipBlank(data, at);
  if (data[at] !== ":") return -1;
  at = skipBlank(data, at + 1);
  return data[at] === '"' ? at + 1 : -1;
}

function skipBlank(data: string, at: number): number {
  while (data[at] === " ") at++;
  return at;
}

/** The quote that closes the string that begins at `at`. */
function literalEnd(data: string, at: number): number {
  for (; at < data.length; at++) {
    const char = data.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH) at++;
    else if (char < 0x20) return -1;
  }
  return -1;
}

/** As above, for a string that is not looked at and so must hold nothing that could be wrong. */
function paddingEnd(data: string, at: number): number {
  for (; at < data.length; at++) {
    const char = data.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH || char < 0x20) return -1;
  }
  return -1;
}
