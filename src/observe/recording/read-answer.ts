/** Reads the frames of one side as events, with the frame that each event came in. */
import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { builtinDialects } from "../../dialects/registry.ts";
import { normalizeStream } from "../../stream/normalize.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { sseReader } from "../../stream/sse.ts";
import { jsonOf } from "../../json/json.ts";

type Event = TurnEvent<UpstreamName>;

/** A stretch of text or arguments, and the frame that brought it. */
type Stretch = { readonly text: string; readonly frame: number };

export type ReadCall = { readonly name: string; readonly stretches: Stretch[]; complete: boolean };

/** What a side said, and the first thing wrong with how it said it. */
export type ReadSide = {
  readonly frames: number;
  readonly text: readonly Stretch[];
  readonly calls: readonly ReadCall[];
  readonly ends: number;
  /** An error that was told as the API has it. */
  readonly error: { readonly frame: number; readonly message: string } | undefined;
  readonly unlawful: { readonly frame: number; readonly reason: string } | undefined;
};

/** Undefined where nobody here reads that dialect. */
export function readSide(
  dialect: string,
  chunks: readonly Uint8Array[],
  { closed }: { readonly closed: boolean },
): ReadSide | undefined {
  const reader = builtinDialects
    .get(dialect)
    ?.upstream?.readEvents({ newId: (prefix) => `${prefix}_`, frames: false });
  if (reader === undefined) return undefined;
  const side = new SideReader();
  const stage = normalizeStream<UpstreamName>();
  const emit = (event: Event): void => side.event(event);
  const each = (event: Event): void => stage.each(event, emit);
  for (const { type, text, event, partial, data } of wireFrames(chunks)) {
    if (type === "comment") continue;
    side.frame++;
    if (type === "body") {
      reader.whole(text, each);
      continue;
    }
    if (reader.done()) {
      // A failure may be told twice, for clients that read only one of its forms.
      if (!side.hasFailed && !END_MARKER.test(text))
        side.blame("it comes after the end of the answer");
      continue;
    }
    if (typeof data === "string" && !END_MARKER.test(text) && !partial)
      side.blame("it is not JSON");
    reader.frame(text, event, partial, each);
  }
  side.isOver = true;
  if (closed && !reader.done()) reader.end?.(each);
  if (closed) stage.end?.(emit);
  return side.result();
}

const END_MARKER = /^\s*\[DONE\]\s*$/;

class SideReader {
  frame = 0;
  /** All frames were read. */
  isOver = false;
  readonly #text: Stretch[] = [];
  readonly #calls = new Map<string, ReadCall>();
  #ends = 0;
  #error: ReadSide["error"];
  #unlawful: ReadSide["unlawful"];

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  blame(reason: string): void {
    this.#unlawful ??= { frame: this.frame, reason };
  }

  event(event: Event): void {
    switch (event.type) {
      case "text-delta":
        this.#text.push({ text: event.text, frame: this.frame });
        return;
      case "call-start":
        this.#calls.set(keyOf(event), { name: event.name, stretches: [], complete: false });
        return;
      case "call-delta":
        this.#calls.get(keyOf(event))?.stretches.push({ text: event.text, frame: this.frame });
        return;
      case "call-end": {
        const call = this.#calls.get(keyOf(event));
        if (call !== undefined) call.complete = event.complete;
        return;
      }
      case "turn-end":
        this.#ends++;
        return;
      case "turn-fail": {
        const { code, message } = event.fault;
        // That it was cut off elsewhere may be told; that it is cut off here is seen at its end.
        if (code === "upstream.malformed" || (code === "upstream.cut" && this.isOver))
          this.blame(message);
        else this.#error ??= { frame: this.frame, message };
        return;
      }
      default:
    }
  }

  result(): ReadSide {
    return {
      frames: this.frame,
      text: this.#text,
      calls: [...this.#calls.values()],
      ends: this.#ends,
      error: this.#error,
      unlawful: this.#unlawful,
    };
  }
}

const keyOf = ({ choice, call }: { readonly choice: number; readonly call: number }): string =>
  `${choice} ${call}`;

/** What a reply that is an error says. */
export function errorMessageIn([frame]: readonly WireFrame[]): string | undefined {
  return frame?.type === "body"
    ? filledText(fieldsOf(fieldsOf(frame.data)?.error)?.message)
    : undefined;
}

/** One frame of a stream, a comment in it, or a whole body. */
export type WireFrame = {
  readonly type: "frame" | "comment" | "body";
  readonly event?: string | undefined;
  /** JSON where it is, else the text. */
  readonly data: unknown;
  readonly text: string;
  /** In which of the chunks its last byte came, from 0. */
  readonly chunk: number;
  /** The connection closed before it was over. */
  readonly partial: boolean;
};

/** What bytes of a reply or an answer say, frame by frame. */
export function wireFrames(chunks: readonly Uint8Array[]): readonly WireFrame[] {
  const decoder = new TextDecoder();
  const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
  const whole = texts.join("");
  const last = chunks.length - 1;
  if (/^\s*[{[<]/.test(whole))
    return [{ type: "body", data: valueOf(whole), text: whole, chunk: last, partial: false }];
  const frames: WireFrame[] = [];
  let chunk = 0;
  const sse = sseReader(
    (text, event, partial) =>
      void frames.push({ type: "frame", event, data: valueOf(text), text, chunk, partial }),
    {
      onComment: (text) =>
        void frames.push({ type: "comment", data: text, text, chunk, partial: false }),
    },
  );
  for (const [at, text] of texts.entries()) {
    chunk = at;
    sse.feed(text);
  }
  sse.end();
  return frames;
}

const valueOf = (text: string): unknown => jsonOf(text) ?? text;
