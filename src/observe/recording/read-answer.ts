/** Reads the frames of one side as text and calls, each with the number of its frame. */
import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { builtinDialects } from "../../dialects/registry.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { SseReader } from "../../stream/sse.ts";
import { walkJson } from "../../json/grammar.ts";
import { jsonOf } from "../../json/json.ts";
import type { Chunk } from "./bundle.ts";

type Event = TurnEvent<UpstreamName>;

/** A piece of text or arguments, and the number of its frame. */
export type Stretch = { readonly text: string; readonly frame: number };

export type ReadCall = {
  readonly id: string;
  readonly name: string;
  readonly stretches: Stretch[];
  complete: boolean;
};

/** The answer of one side, and the first frame that breaks the rules of its dialect. */
export type ReadSide = {
  frames: number;
  readonly text: Stretch[];
  readonly calls: readonly ReadCall[];
  /** An error in the form of the API. */
  error: { readonly frame: number; readonly message: string } | undefined;
  unlawful: { readonly frame: number; readonly reason: string } | undefined;
};

export const stretchText = (stretches: readonly Stretch[]): string =>
  stretches.map(({ text }) => text).join("");

/** Undefined if the dialect has no reader. */
export function readSide(
  dialect: string,
  chunks: readonly Uint8Array[],
  { closed }: { readonly closed: boolean },
): ReadSide | undefined {
  const reader = builtinDialects
    .get(dialect)
    ?.upstream?.readEvents({ newId: () => "", frames: false });
  if (reader === undefined) return undefined;
  const calls = new Map<string, ReadCall>();
  const side: Omit<ReadSide, "calls"> = {
    frames: 0,
    text: [],
    error: undefined,
    unlawful: undefined,
  };
  const blame = (reason: string): void => {
    side.unlawful ??= { frame: side.frames, reason };
  };
  let isOver = false;
  const emit = (event: Event): void => {
    const frame = side.frames;
    const call = "call" in event ? calls.get(`${event.choice} ${event.call}`) : undefined;
    switch (event.type) {
      case "text-delta":
        return void side.text.push({ text: event.text, frame });
      case "call-start": {
        const { id, name } = event;
        calls.set(`${event.choice} ${event.call}`, { id, name, stretches: [], complete: false });
        return;
      }
      case "call-delta":
        return void call?.stretches.push({ text: event.text, frame });
      case "call-end":
        if (call !== undefined) call.complete = event.complete;
        return;
      case "turn-fail": {
        const { code, message } = event.fault;
        // A stream may report that an earlier connection was cut; only its own missing end breaks the rules.
        if (code === "upstream.malformed" || (code === "upstream.cut" && isOver)) blame(message);
        else side.error ??= { frame, message };
        return;
      }
      default:
    }
  };
  const stage = new StreamNormalizer<UpstreamName>();
  const each = (event: Event): void => stage.each(event, emit);
  for (const { type, text, event, partial, data } of wireFrames(chunks)) {
    side.frames++;
    const isMarker = END_MARKER.test(text);
    if (type === "body") reader.whole(text, each);
    else if (!reader.done()) {
      if (typeof data === "string" && !isMarker && !partial) blame("the frame is not JSON");
      reader.frame(text, event, partial, each);
    }
    // A failure may come in two forms, because some clients read only one of them.
    else if (side.error === undefined && !isMarker)
      blame("the frame follows the end of the answer");
  }
  isOver = true;
  if (closed && !reader.done()) reader.end?.(each);
  if (closed) stage.end?.(emit);
  return { ...side, calls: [...calls.values()] };
}

const END_MARKER = /^\s*\[DONE\]\s*$/;

export function errorMessageIn([frame]: readonly WireFrame[]): string | undefined {
  return frame?.type === "body"
    ? filledText(fieldsOf(fieldsOf(frame.data)?.error)?.message)
    : undefined;
}

/** One frame or comment of a stream, an entry of a streamed list, or a whole body. */
export type WireFrame = {
  readonly type: "frame" | "body" | "comment";
  readonly event?: string | undefined;
  /** The value of JSON, else the text. */
  readonly data: unknown;
  readonly text: string;
  /** The index of the chunk with its last byte. */
  readonly chunk: number;
  /** True if the connection closed in the middle of it. */
  readonly partial: boolean;
};

/** The frames of a reply or an answer. Without `comments`, only those that carry it. */
export function wireFrames(
  chunks: readonly Uint8Array[],
  { comments = false } = {},
): readonly WireFrame[] {
  const decoder = new TextDecoder();
  const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
  const whole = texts.join("");
  const frames: WireFrame[] = [];
  let chunk = chunks.length - 1;
  const add = (type: WireFrame["type"], text: string, event?: string, partial = false): void =>
    void frames.push({ type, event, data: jsonOf(text) ?? text, text, chunk, partial });
  if (/^\s*[{<]/.test(whole)) add("body", whole);
  else if (/^\s*\[/.test(whole)) {
    let read = texts[0]?.length ?? 0;
    chunk = 0;
    for (const [from, to] of entriesIn(whole)) {
      while (read < to) read += texts[++chunk]?.length ?? Infinity;
      add("frame", whole.slice(from, to));
    }
  } else {
    const sse = new SseReader((text, event, partial) => add("frame", text, event, partial), {
      onComment: comments ? (text) => add("comment", text) : undefined,
    });
    for (const [at, text] of texts.entries()) {
      chunk = at;
      sse.feed(text);
    }
    sse.end();
  }
  return frames;
}

/** The entries of a list in JSON text, which may be cut off: some APIs stream their frames as one list. */
function entriesIn(text: string): readonly (readonly [from: number, to: number])[] {
  const entries: [number, number][] = [];
  let depth = 0;
  let from = 0;
  walkJson(text, (token, start, end) => {
    if (token === "object" || token === "list") {
      if (depth === 1) from = start;
      depth++;
    } else if (token === "close" && --depth === 1) entries.push([from, end]);
  });
  return entries;
}

export const bytesOf = (chunks: readonly Chunk[]): readonly Buffer[] =>
  chunks.map(({ bytes }) => bytes);
