import { builtinDialects } from "../../src/dialects/registry.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { SseReader } from "../../src/stream/sse.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import { isName } from "../../src/observe/recording/leaf-policy.ts";
import { scrubber } from "../../src/observe/recording/secrets.ts";
import { WireMask, type Steps } from "../../src/observe/recording/wire-mask.ts";
import { sizesOf } from "../../src/observe/recording/text-mask.ts";

/** The events that an answer of a dialect is read as, whole or streamed. */
export function eventsOf(dialect: string, chunks: readonly Uint8Array[]): unknown[] {
  let made = 0;
  const newId = (prefix: string): string => `${prefix}_${made++}`;
  const reader = builtinDialects.get(dialect)?.upstream?.readEvents({ newId, frames: false });
  if (reader === undefined) throw new Error(`Nobody reads ${dialect}.`);
  const events: TurnEvent<UpstreamName>[] = [];
  const emit = (event: TurnEvent<UpstreamName>): void => void events.push(event);
  const text = Buffer.concat(chunks).toString("utf8");
  if (/^[\s\ufeff]*[{[]/.test(text)) reader.whole(text, emit);
  else {
    const decoder = new TextDecoder();
    const sse = new SseReader((data, name, partial) => {
      if (!reader.done()) reader.frame(data, name, partial, emit);
    });
    for (const chunk of chunks) sse.feed(decoder.decode(chunk, { stream: true }));
    sse.feed(decoder.decode());
    sse.end();
  }
  if (!reader.done()) reader.end?.(emit);
  return runStage(new StreamNormalizer<UpstreamName>(), events).map((event) =>
    event.type === "turn-fail" ? { type: event.type, code: event.fault.code } : event,
  );
}

/** Chunks of a stream as a bundle has them, by a mask that is the same each time. */
export function maskChunks(
  chunks: readonly Buffer[],
  content: "masked" | "full" = "masked",
): readonly Buffer[] {
  let state = 7;
  const random = (): number => (state = (state * 48271) % 0x7fffffff);
  const mask = new WireMask({ content, names: "kept", scrub: scrubber([]), random });
  return finishSteps(mask.chunks(chunks));
}

function finishSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Events with every word as its shape: what a mask keeps of them. Keys that are no names are words. */
export const shapes = (events: readonly unknown[]): unknown => events.map(shapeWithin);

function shapeWithin(value: unknown): unknown {
  if (typeof value === "string") return sizesOf(value);
  if (typeof value === "number") return 0;
  if (Array.isArray(value)) return value.map(shapeWithin);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).flatMap(([key, inner]): unknown[] =>
    inner === undefined ? [] : [[isName(key) ? key : sizesOf(key), shapeWithin(inner)]],
  );
}
