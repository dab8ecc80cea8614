import { sseReader } from "../../../stream/sse.ts";
import { jsonOf } from "../../../json/json.ts";

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
    undefined,
    (text) => void frames.push({ type: "comment", data: text, text, chunk, partial: false }),
  );
  for (const [at, text] of texts.entries()) {
    chunk = at;
    sse.feed(text);
  }
  sse.end();
  return frames;
}

const valueOf = (text: string): unknown => jsonOf(text) ?? text;
