import type { EventReader } from "../../dialects/dialect.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { sseReader, type SseReader } from "../../stream/sse.ts";
import type { Clock } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import {
  blank,
  broken,
  noAnswer,
  packed,
  refusal,
  shown,
  tooLong,
  webPage,
  type Failing,
} from "./fault.ts";
import { headerValue, type Failure, type Headers } from "../retry.ts";
import type { AttemptWatch } from "../upstream.ts";
import type { ResponseController, ResponseHandler, Utf8Decoder } from "./transport.ts";

type Event = TurnEvent<UpstreamName>;

export type AnswerOptions = {
  readonly reader: EventReader;
  readonly sink: Sink<Event>;
  readonly fail: (failure: Failure) => void;
  readonly failing: Failing;
  readonly clock: Clock;
  readonly decoder: Utf8Decoder;
  /** Is told how long work on what came held the event loop, in milliseconds. */
  readonly worked?: ((ms: number) => void) | undefined;
  /** The exchange itself is over, and its connection free for another. */
  readonly closed: () => void;
  readonly watch?: Pick<AttemptWatch, "answered"> | undefined;
};

const LONGEST_ERROR = 64 * 1024;
const LONGEST_WHOLE = 64 * 1024 * 1024;
/** How much white space may stand before an answer. */
const MAX_BLANKS = 1024 * 1024;
/** What an upstream may still send after its last word before the connection is given up. */
const LONGEST_REST = 256 * 1024;
const REST_MS = 2_000;

// One error for all who leave: nobody reads it, and a stack is dear to take.
const left = new Error("The turn was stopped.");
const enough = new Error("The answer was over and its connection was not.");

/**
 * One HTTP answer while it arrives: bytes to text, text to frames, frames to
 * the dialect's reader, events to the sink. The transport drives it as a handler,
 * the turn's owner as a flow.
 */
export class HttpAnswer implements ResponseHandler, Flow {
  readonly #to: AnswerOptions;
  #controller: ResponseController | undefined;
  #paused = false;
  /** The sink has had its end, or takes no more events. */
  #over = false;
  #stopped = false;
  /** The exchange itself is over. */
  #closed = false;
  #spoken = false;
  /** Chunks of one network read, which are read at once. */
  #chunks: Uint8Array[] = [];
  /** When the network read began to be worked on. */
  #readAt = 0;
  #started = false;
  #status = 0;
  #headers: Headers = {};
  #form: "unknown" | "frames" | "whole" | "refusal" = "unknown";
  /** Text that waits: to be told apart, to be whole, or to be the reason why there is no answer. */
  #text = "";
  #rest = 0;
  #calledOff: (() => void) | undefined;
  #sse: SseReader | undefined;

  constructor(to: AnswerOptions) {
    this.#to = to;
  }

  pause(): void {
    if (this.#over) return;
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#controller?.resume();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#over) return;
    this.#over = true;
    this.#controller?.abort(left);
  }

  onRequestStart(controller: ResponseController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(left);
    else if (this.#paused) controller.pause();
  }

  onResponseStart(_: ResponseController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#started = true;
    this.#to.watch?.answered(status);
    this.#status = status;
    this.#headers = headers;
    if (status >= 300) this.#form = "refusal";
    const encoding = headerValue(headers["content-encoding"]);
    if (encoding === "" || encoding === "identity") return;
    if (this.#form !== "refusal") return this.#abandon(packed(this.#to.failing, encoding));
    this.#refused();
    this.#controller?.abort(enough);
  }

  onResponseData(controller: ResponseController, chunk: Uint8Array): void {
    if (this.#over) {
      this.#rest += chunk.length;
      if (this.#rest > LONGEST_REST) controller.abort(enough);
      return;
    }
    // A transport hands over the chunks of one network read without a pause between them.
    if (this.#chunks.push(chunk) === 1) queueMicrotask(this.#flush);
  }

  onResponseEnd(): void {
    this.#readAt = this.#to.clock.now();
    this.#endResponse();
    this.#to.worked?.(this.#to.clock.now() - this.#readAt);
  }

  #endResponse(): void {
    this.#readChunks();
    this.#close();
    if (this.#over) return;
    this.#hearLast();
    if (this.#form === "refusal") return this.#refused();
    if (this.#form === "whole") this.#to.reader.whole(this.#text, this.#emit);
    else if (!this.#spoken && this.#text.trim() !== "")
      return this.#give(noAnswer(this.#to.failing, this.#text));
    this.#finish();
  }

  onResponseError(_: ResponseController, error: Error): void {
    this.#close();
    if (this.#over) return;
    try {
      this.#readChunks();
      if (this.#form === "refusal" && this.#text !== "" && !this.#over) return this.#refused();
      const failure = broken(this.#to.failing, error, this.#started);
      // Not after a fault of our own: whoever threw it would only throw again.
      if (failure.again || failure.fault.code === "upstream.idle_timeout") this.#hearLast();
      if (this.#over) return;
      if (this.#to.reader.done()) this.#finish();
      else this.#give(failure);
    } catch {
      this.#over = true; // The sink itself is broken, and there is nobody else to tell.
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#calledOff?.();
    this.#to.closed();
  }

  readonly #emit = (event: Event): void => {
    this.#spoken = true;
    this.#to.sink.each(event.type === "turn-fail" ? this.#safe(event.fault) : event);
  };

  readonly #flush = (): void => {
    if (this.#chunks.length === 0) return;
    this.#readAt = this.#to.clock.now();
    try {
      this.#readChunks();
      if (!this.#over) this.#to.sink.flush();
    } catch (error) {
      // Outside the transport's own guard: it must end the turn, not the process.
      this.#controller?.abort(error as Error);
    }
    this.#to.worked?.(this.#to.clock.now() - this.#readAt);
  };

  #readChunks(): void {
    const chunks = this.#chunks;
    if (chunks.length === 0 || this.#over) return;
    this.#chunks = [];
    this.#hear(this.#to.decoder.write(joined(chunks)));
  }

  #hear(text: string): void {
    switch (this.#form) {
      case "frames":
        this.#sse?.feed(text);
        return;
      case "whole":
        this.#text += text;
        if (this.#text.length > LONGEST_WHOLE)
          this.#abandon(tooLong(this.#to.failing, LONGEST_WHOLE));
        return;
      case "refusal":
        this.#text += text;
        if (this.#text.length > LONGEST_ERROR) {
          this.#refused();
          this.#controller?.abort(enough);
        }
        return;
      case "unknown":
        this.#tellApart(text);
        return;
      default:
        this.#form satisfies never;
    }
  }

  /** What is left when the connection closes: half a character, half a frame. */
  #hearLast(): void {
    const text = this.#to.decoder.end();
    if (text !== "") this.#hear(text);
    this.#sse?.end();
    if (!this.#over) this.#to.reader.end?.(this.#emit);
  }

  /** The first character that says anything tells better than the header what this is. */
  #tellApart(piece: string): void {
    // Only what is new is searched: some send blank lines for minutes until they have an answer.
    const inPiece = piece.search(/\S/);
    const before = this.#text.length;
    const text = this.#text + piece;
    // A byte order mark counts as space.
    if (inPiece === -1) {
      this.#text = text;
      if (text.length > MAX_BLANKS) this.#abandon(blank(this.#to.failing, MAX_BLANKS));
      return;
    }
    const at = before + inPiece;
    this.#text = "";
    const first = text.charAt(at);
    if (first === "<") return this.#abandon(webPage(this.#to.failing));
    const json =
      first === "{" ||
      first === "[" ||
      // No field of a stream begins like JSON, nor the other way about.
      (!":deir".includes(first) && headerValue(this.#headers["content-type"]).includes("json"));
    this.#form = json ? "whole" : "frames";
    if (!json) this.#sse = sseReader(this.#frame, { onRun: this.#run });
    if (!json && !headerValue(this.#headers["content-type"]).includes("event-stream"))
      this.#text = text.slice(0, LONGEST_ERROR);
    this.#hear(json ? text.slice(at) : text);
  }

  readonly #frame = (data: string, name: string | undefined, partial: boolean): void => {
    if (this.#over) return;
    const { reader } = this.#to;
    reader.frame(data, name, partial, this.#emit);
    if (reader.done()) this.#finish();
  };

  readonly #run = (text: string, at: number): number =>
    this.#over ? at : (this.#to.reader.run?.(text, at, this.#emit) ?? at);

  /** The turn is over; the connection is kept for the next one if it comes to rest soon. */
  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#to.sink.flush();
    this.#to.sink.end();
    if (this.#closed) return;
    this.#controller?.resume();
    // Mostly the end is in the same network read, and no clock has to be set.
    queueMicrotask(() => {
      if (this.#closed) return;
      const { clock } = this.#to;
      const giveUp = (): void => this.#controller?.abort(enough);
      this.#calledOff = clock.at(clock.now() + REST_MS, giveUp);
    });
  }

  #refused(): void {
    const { failing, clock } = this.#to;
    const answered = { status: this.#status, headers: this.#headers, body: this.#text };
    this.#give(refusal(failing, { ...answered, now: clock.date() }));
  }

  #abandon(failure: Failure): void {
    this.#give(failure);
    this.#controller?.abort(enough);
  }

  /** Ends in failure: as the last event, or before the first as a try that may be made again. */
  #give(failure: Failure): void {
    this.#over = true;
    if (this.#spoken) {
      const { sink } = this.#to;
      try {
        sink.each(this.#safe(failure.fault));
        sink.flush();
      } finally {
        sink.end();
      }
      return;
    }
    // A transport may fail while it is still being asked, and a source speaks only once it has returned.
    queueMicrotask(() => {
      if (!this.#stopped) this.#to.fail(failure);
    });
  }

  #safe(fault: Fault): Event {
    return { type: "turn-fail", fault: shown(this.#to.failing, fault) };
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const all = new Uint8Array(length);
  length = 0;
  for (const chunk of chunks) {
    all.set(chunk, length);
    length += chunk.length;
  }
  return all;
}
