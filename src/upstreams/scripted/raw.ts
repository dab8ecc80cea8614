import type { EventReader } from "../../dialects/dialect.ts";
import type { DialectRegistry } from "../../dialects/registry.ts";
import { sseReader, type SseReader } from "../../stream/sse.ts";
import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { RawInput } from "./script.ts";

type Event = TurnEvent<UpstreamName>;

export type RawOptions = {
  /** The upstream's name. */
  readonly name: string;
  readonly dialects?: Pick<DialectRegistry, "get"> | undefined;
  readonly newId: NewId;
};

type Open = {
  readonly reader: EventReader;
  readonly decoder: TextDecoder;
  readonly sse: SseReader;
};

/** Reads the raw steps of one turn as the dialect would from the wire, all with one reader. */
export class RawReader {
  readonly #options: RawOptions;
  readonly #open = new Map<string, Open>();
  #events: Event[] = [];

  constructor(options: RawOptions) {
    this.#options = options;
  }

  *read(dialect: string, input: RawInput): Generator<Event, void, undefined> {
    const open = this.#open.get(dialect) ?? this.#start(dialect);
    if (open === undefined) {
      yield this.#unknown(dialect);
      return;
    }
    const { reader, decoder, sse } = open;
    switch (input.form) {
      case "frames":
        for (const { data, name } of input.frames) {
          this.#frame(reader, data, name, false);
          yield* this.#take();
        }
        return;
      case "sse":
        for (const chunk of input.chunks) {
          sse.feed(decoder.decode(chunk, { stream: true }));
          yield* this.#take();
        }
        return;
      case "body":
        reader.whole(input.text, (event) => void this.#events.push(event));
        yield* this.#take();
        return;
      default:
        input satisfies never;
    }
  }

  /** The connection closed: half a character or half a frame may be left. */
  *end(): Generator<Event, void, undefined> {
    for (const { reader, decoder, sse } of this.#open.values()) {
      sse.feed(decoder.decode());
      sse.end();
      if (!reader.done()) reader.end?.((event) => void this.#events.push(event));
      yield* this.#take();
    }
  }

  #start(name: string): Open | undefined {
    const { dialects, newId } = this.#options;
    const reader = dialects?.get(name)?.upstream?.readEvents({ newId, frames: false });
    if (reader === undefined) return undefined;
    const sse = sseReader((data, event, partial) => this.#frame(reader, data, event, partial));
    const open = { reader, decoder: new TextDecoder(), sse };
    this.#open.set(name, open);
    return open;
  }

  #frame(reader: EventReader, data: string, name: string | undefined, partial: boolean): void {
    if (!reader.done()) reader.frame(data, name, partial, (event) => void this.#events.push(event));
  }

  #take(): readonly Event[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #unknown(dialect: string): Event {
    const message = `The script of upstream \`${this.#options.name}\` has frames of \`${dialect}\`, which nobody here reads.`;
    return { type: "turn-fail", fault: new Fault("config.invalid", message) };
  }
}
