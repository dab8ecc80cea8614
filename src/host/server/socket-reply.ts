import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Reply, ReplyData } from "../../gateway/http/exchange.ts";
import { sseDone, sseReader, type SseReader } from "../../stream/sse.ts";
import type { Fault } from "../../turn/fault.ts";

/** Where the events of an answer go. */
export type EventSink = {
  send(json: string): void;
  /** Whether so much waits to be sent that the writer has to stop. */
  isFull(): boolean;
  /** The turn ends with a failure. */
  failed(): void;
  /** The answer is over, and another may begin. */
  over(): void;
};

/** Headers of a refusal that mean something to a client that has the event alone. */
const shownHeaders = new Set(["x-request-id", "retry-after", "x-should-retry"]);
const DONE = sseDone.slice("data: ".length).trim();

/**
 * A reply whose events are sent one in a message. Doors write a stream of
 * server-sent events: it is taken apart again, so that an answer over a
 * WebSocket is the same in every part. A failure is one event there and two
 * here, `error` and `response.failed`; clients take either for the end of the
 * turn, so the first is left out where the second follows.
 */
export class SocketReply implements Reply {
  readonly #sink: EventSink;
  readonly #reader: SseReader;
  #error: string | undefined;
  #isOver = false;
  #drained: (() => void) | undefined;
  #left: (() => void) | undefined;

  constructor(sink: EventSink) {
    this.#sink = sink;
    this.#reader = sseReader((json, name) => this.#send(json, name), { longest: Infinity });
  }

  /** A message has no head. */
  head(): void {}

  write(data: ReplyData): boolean {
    if (this.#isOver) return true;
    this.#reader.feed(textOf(data));
    return !this.#sink.isFull();
  }

  end(data: ReplyData = ""): void {
    if (this.#isOver) return;
    this.#reader.feed(textOf(data));
    this.#reader.end();
    if (this.#error !== undefined) this.#sink.send(this.#error);
    this.#finish();
  }

  refuse(fault: Fault, head: Readonly<Record<string, string>>): void {
    if (this.#isOver) return;
    this.#sink.failed();
    const headers = Object.fromEntries(
      Object.entries(head).filter(([name]) => shownHeaders.has(name)),
    );
    const { error } = faultBody(fault);
    // The SDKs look for the headers in the error, Codex beside it.
    const event = { type: "error", status: fault.status, error: { ...error, headers }, headers };
    this.#sink.send(JSON.stringify(event));
    this.#finish();
  }

  onDrain(then: () => void): void {
    this.#drained = then;
  }

  onLeave(then: () => void): void {
    this.#left = then;
  }

  /** There is room again. */
  drain(): void {
    this.#drained?.();
  }

  /** The connection is gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#left?.();
  }

  #finish(): void {
    this.#isOver = true;
    this.#sink.over();
  }

  #send(json: string, name: string | undefined): void {
    if (json === DONE) return;
    if (name === "error") {
      this.#error = json;
      return;
    }
    if (name === "response.failed") this.#sink.failed();
    if (this.#error !== undefined && name !== "response.failed") this.#sink.send(this.#error);
    this.#error = undefined;
    this.#sink.send(json);
  }
}

const textOf = (data: ReplyData): string =>
  typeof data === "string" ? data : new TextDecoder().decode(data);
