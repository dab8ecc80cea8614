import type { EventReader, ReadContext } from "../../src/dialects/dialect.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import { readStream, slicesOf } from "./frame-runs.ts";

type Event = TurnEvent<UpstreamName>;

type BothWays = readonly [plain: unknown, tolerant: unknown];

/** What the plain and the tolerant way of a reader make of a stream, which is cut at some places. */
export function streamBothWays(
  readEvents: (context: ReadContext) => EventReader,
  wire: string,
  places: readonly number[] = [],
): BothWays {
  return comparable((way) => readStream(readerOf(readEvents, way), slicesOf(wire, places), true));
}

/** The same of a whole body. */
export function wholeBothWays(
  readEvents: (context: ReadContext) => EventReader,
  text: string,
): BothWays {
  return comparable((way) => {
    const events: Event[] = [];
    readerOf(readEvents, way).whole(text, (event) => void events.push(event));
    return events;
  });
}

function readerOf(readEvents: (context: ReadContext) => EventReader, plain: boolean): EventReader {
  let made = 0;
  return readEvents({ newId: (prefix) => `${prefix}_new${made++}`, frames: true, plain });
}

function comparable(read: (plain: boolean) => readonly Event[]): BothWays {
  const [plain, tolerant] = [read(true), read(false)];
  const events = (all: readonly Event[]): Event[] => all.filter(({ type }) => type !== "frame");
  const frames = (all: readonly Event[]): unknown[] =>
    all.flatMap((event) => (event.type === "frame" ? { ...event, forwardable: false } : []));
  // Frames that may still be forwarded wait; when the answer fails they are never emitted.
  const shared = frames(plain).length;
  return [
    { events: events(plain), frames: frames(plain) },
    { events: events(tolerant), frames: frames(tolerant).slice(0, shared) },
  ];
}
