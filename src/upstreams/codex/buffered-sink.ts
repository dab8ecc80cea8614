import type { Flow, Sink } from "../../stream/flow.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Failure } from "../retry.ts";

type Event = TurnEvent<UpstreamName>;

type BufferOptions = {
  /** Called once if the attempt fails before its first event. */
  readonly onFailure: (failure: Failure) => void;
  /** Called if the reader stops before the end. */
  readonly onStop: () => void;
  /** Bytes that may wait for a paused reader. */
  readonly limit?: number;
};

const LIMIT = 4 * 1024 * 1024;
/** Size of an event without its text, in bytes. */
const EVENT_BYTES = 64;

/**
 * Buffers the events of one attempt. All threads of a process share one pipe, so
 * a slow reader cannot slow its own thread alone: events wait here while the reader
 * is paused, and the writer has to stop once `isFull`.
 */
export class BufferedSink implements Flow {
  readonly #sink: Sink<Event>;
  readonly #options: BufferOptions;
  #buffer: Event[] = [];
  #bytes = 0;
  #failure: Failure | undefined;
  #paused = false;
  #scheduled = false;
  #ended = false;
  #closed = false;
  /** There was an event. */
  started = false;
  /** The reader stopped before the end. */
  stopped = false;

  constructor(sink: Sink<Event>, options: BufferOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#bytes > (this.#options.limit ?? LIMIT);
  }

  readonly emit = (event: Event): void => {
    if (this.#closed || this.#ended) return;
    this.started = true;
    this.#buffer.push(event);
    if (this.#paused) this.#bytes += EVENT_BYTES + ("text" in event ? event.text.length : 0);
    this.#schedule();
  };

  end(): void {
    this.#ended = true;
    this.#schedule();
  }

  /** Ends with a failure: before the first event as a failed attempt, later as the last event. */
  fail(failure: Failure): void {
    if (this.started) this.emit({ type: "turn-fail", fault: failure.fault });
    else this.#failure ??= failure;
    this.end();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  stop(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.stopped = true;
    this.#buffer = [];
    this.#options.onStop();
  }

  /** One write for all the lines that one read of the pipe brought. */
  #schedule(): void {
    if (this.#scheduled || this.#paused) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#write());
  }

  #write(): void {
    this.#scheduled = false;
    if (this.#paused || this.#closed) return;
    const events = this.#buffer;
    this.#buffer = [];
    this.#bytes = 0;
    for (const event of events) this.#sink.each(event);
    if (events.length > 0) this.#sink.flush();
    // The flush may have paused or stopped the reader.
    if (this.#ended) this.#finish();
  }

  #finish(): void {
    if (this.#paused || this.#closed) return;
    this.#closed = true;
    if (this.#failure === undefined) this.#sink.end();
    else this.#options.onFailure(this.#failure);
  }
}
