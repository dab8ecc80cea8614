import type { Flow, Sink } from "../../stream/flow.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Failure } from "../retry.ts";

type Event = TurnEvent<UpstreamName>;

export type BufferOptions = {
  /** Called once, in place of any event: the attempt failed before its first. */
  readonly onFailure: (failure: Failure) => void;
  /** The reader stopped before the end. */
  readonly onStop: () => void;
  /** Bytes that may wait for a paused reader. */
  readonly limit?: number;
};

const LIMIT = 4 * 1024 * 1024;
/** What an event weighs beside its text, in bytes. */
const EVENT_BYTES = 64;

/**
 * Buffers the events of one attempt. All threads of a process share one pipe, so
 * a slow reader cannot slow its own thread alone: what comes while it is paused
 * waits here, and the writer has to stop once `isFull`.
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
  /** Whether there was any event. */
  started = false;
  /** Whether the reader stopped before the end. */
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

  /** Ends in failure: before the first event as a failed attempt, then as the last event. */
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
    if (this.#isHeld()) return;
    const events = this.#buffer;
    this.#buffer = [];
    this.#bytes = 0;
    for (const event of events) this.#sink.each(event);
    if (events.length > 0) this.#sink.flush();
    // The flush may have paused or stopped the reader.
    if (!this.#ended || this.#isHeld()) return;
    this.#closed = true;
    if (this.#failure === undefined) this.#sink.end();
    else this.#options.onFailure(this.#failure);
  }

  #isHeld(): boolean {
    return this.#paused || this.#closed;
  }
}
