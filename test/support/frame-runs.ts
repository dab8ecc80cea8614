import type { EventReader } from "../../src/dialects/dialect.ts";
import { SseReader } from "../../src/stream/sse.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";

type Event = TurnEvent<UpstreamName>;

/** Events of a stream; `runs`: whether the reader may read several frames at once. */
export function readStream(reader: EventReader, slices: readonly string[], runs: boolean): Event[] {
  const events: Event[] = [];
  const emit = (event: Event): void => void events.push(event);
  const sse = new SseReader(
    (data, name, partial) => {
      if (!reader.done()) reader.frame(data, name, partial, emit);
    },
    runs ? { onRun: (text, at) => reader.run?.(text, at, emit) ?? at } : {},
  );
  for (const slice of slices) sse.feed(slice);
  sse.end();
  if (!reader.done()) reader.end?.(emit);
  return runs ? expandRuns(events) : events;
}

/** The same events as the reader gives if it reads frame by frame. */
function expandRuns(events: readonly Event[]): Event[] {
  const all: Event[] = [];
  let waiting: Event[] = [];
  for (const event of events) {
    if (event.type === "frame" && event.run !== undefined) {
      const { run, sequence, ...frame } = event;
      const texts = run.split("\n\n").slice(0, -1);
      for (const [at, text] of texts.entries()) {
        const [, name, data = ""] = /^(?:event: ([^\n]*)\n)?data: ([^\n]*)$/.exec(text) ?? [];
        const number = sequence === undefined ? undefined : sequence - texts.length + 1 + at;
        all.push({
          ...frame,
          data,
          ...(name !== undefined && { name }),
          ...("sequence" in event && { sequence: number }),
        });
        all.push(...waiting.splice(0, 1));
      }
      continue;
    }
    if (event.type !== "frame") {
      all.push(...waiting);
      waiting = [];
    }
    if (!("literals" in event) || event.literals === undefined) {
      all.push(event);
      continue;
    }
    const { literals, ...delta } = event;
    for (const literal of literals.pieces)
      waiting.push({ ...delta, text: JSON.parse(`"${literal}"`) as string });
    all.push(...waiting.splice(0, 1));
  }
  return [...all, ...waiting];
}

/** Cuts a text at the places given, as shares of its length. */
export function slicesOf(text: string, places: readonly number[]): string[] {
  const at = places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
}
