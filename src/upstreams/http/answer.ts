import type { EventReader } from "../../dialects/dialect.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { SseReader } from "../../stream/sse.ts";
import type { Clock } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { ConnectionShares } from "./connection-shares.ts";
import { broken, type Failing, badAnswer, noAnswer, httpFailure, shown, tooLong } from "./fault.ts";
import { headerValue, type Failure, type Headers } from "../retry.ts";
import type { OpenOptions } from "../upstream.ts";
import type { ResponseController, ResponseHandler, Utf8Decoder } from "./transport.ts";

type Event = TurnEvent<UpstreamName>;

/** The turn that an answer is for. */
export type AnswerOwner = {
  readonly sink: Sink<Event>;
  readonly connection: {
    readonly failing: Failing;
    readonly clock: Clock;
    readonly shares: Pick<ConnectionShares, "leave">;
  };
  readonly opening: Pick<OpenOptions, "tenant" | "worked" | "watch">;
  /** The answer failed before its first event. */
  failed(failure: Failure): void;
};

const LONGEST_ERROR = 64 * 1024;
const LONGEST_WHOLE = 64 * 1024 * 1024;
/** Longest white space before an answer. */
const MAX_BLANKS = 1024 * 1024;
/** Most bytes after an answer before the connection is closed. */
const LONGEST_REST = 256 * 1024;
const REST_MS = 2_000;

// One error for all stopped turns: taking a stack is expensive, and its text is not shown.
const stoppedByClient = new Error("The turn was stopped.");
const readEnough = new Error("The answer has ended, and its connection has not.");

/**
 * One HTTP answer while it arrives: bytes to text, text to frames, frames to
 * the dialect's reader, events to the sink. The transport drives it as a handler,
 * the owner of the turn as a flow.
 */
export class HttpAnswer implements ResponseHandler, Flow {
  readonly #owner: AnswerOwner;
  readonly #reader: EventReader;
  readonly #decoder: Utf8Decoder;
  #controller: ResponseController | undefined;
  #isPaused = false;
  /** The sink has received its end, or takes no more events. */
  #isEnded = false;
  #isStopped = false;
  /** The exchange has ended. */
  #isClosed = false;
  #hasEmitted = false;
  /** Chunks of one network read. */
  #chunks: Uint8Array[] = [];
  #status = 0;
  #headers: Headers = {};
  #form: "unknown" | "frames" | "whole" | "refusal" = "unknown";
  /** Text of unknown form, of a body that is not whole yet, or for the message of a failure. */
  #text = "";
  #rest = 0;
  #cancelTimer: (() => void) | undefined;
  #sse: SseReader | undefined;

  constructor(owner: AnswerOwner, reader: EventReader, decoder: Utf8Decoder) {
    this.#owner = owner;
    this.#reader = reader;
    this.#decoder = decoder;
  }

  pause(): void {
    if (this.#isEnded) return;
    this.#isPaused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#controller?.resume();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#controller?.abort(stoppedByClient);
  }

  onRequestStart(controller: ResponseController): void {
    this.#controller = controller;
    if (this.#isEnded) controller.abort(stoppedByClient);
    else if (this.#isPaused) controller.pause();
  }

  onResponseStart(_: ResponseController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#owner.opening.watch?.answered(status);
    if (status >= 300) this.#form = "refusal";
    if (headers["content-encoding"] === undefined) return;
    const encoding = headerValue(headers["content-encoding"]);
    if (encoding === "" || encoding === "identity") return;
    if (this.#form !== "refusal")
      return this.#failMalformed(
        `compressed its answer (${encoding}), which the gateway did not request. Switch compression off there.`,
      );
    this.#failRefused();
    this.#controller?.abort(readEnough);
  }

  onResponseData(controller: ResponseController, chunk: Uint8Array): void {
    if (this.#isEnded) {
      this.#rest += chunk.length;
      if (this.#rest > LONGEST_REST) controller.abort(readEnough);
      return;
    }
    // A transport hands over the chunks of one network read without a pause between them.
    if (this.#chunks.push(chunk) === 1) queueMicrotask(this.#flush);
  }

  onResponseEnd(): void {
    const { connection, opening } = this.#owner;
    const { clock, failing } = connection;
    const began = clock.now();
    this.#close();
    this.#read();
    if (!this.#isEnded) this.#readRest();
    if (!this.#isEnded) {
      if (this.#form === "refusal") this.#failRefused();
      else {
        if (this.#form === "whole") this.#reader.whole(this.#text, this.#emit);
        if (this.#form !== "whole" && !this.#hasEmitted && this.#text.trim() !== "")
          this.#fail(noAnswer(failing, this.#text));
        else this.#finish();
      }
    }
    opening.worked?.(clock.now() - began);
  }

  onResponseError(_: ResponseController, error: Error): void {
    this.#close();
    if (this.#isEnded) return;
    try {
      this.#read();
      if (this.#isEnded) return;
      if (this.#form === "refusal" && this.#text !== "") return this.#failRefused();
      const failure = broken(this.#owner.connection.failing, error, this.#status > 0);
      // After an error of the gateway the same events would only raise it again.
      if (failure.again || failure.fault.code === "upstream.idle_timeout") this.#readRest();
      if (this.#isEnded) return;
      if (this.#reader.done()) this.#finish();
      else this.#fail(failure);
    } catch {
      this.#isEnded = true; // The sink is broken and cannot take the failure.
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTimer?.();
    const { connection, opening } = this.#owner;
    connection.shares.leave(opening.tenant);
  }

  readonly #emit = (event: Event): void => {
    const { sink, connection } = this.#owner;
    if (event.type === "turn-fail" && !this.#hasEmitted && event.fault.detail.retry === true) {
      // The status was a success, but the same request may give a better answer.
      this.#fail({ fault: shown(connection.failing, event.fault), again: true });
      if (!this.#isClosed) this.#controller?.abort(readEnough);
      return;
    }
    this.#hasEmitted = true;
    if (event.type !== "turn-fail") sink.each(event);
    else sink.each({ type: "turn-fail", fault: shown(connection.failing, event.fault) });
  };

  readonly #flush = (): void => {
    if (this.#chunks.length === 0) return;
    const { connection, opening, sink } = this.#owner;
    const { clock } = connection;
    const began = clock.now();
    try {
      this.#read();
      if (!this.#isEnded) sink.flush();
    } catch (error) {
      // The transport cannot catch an error of a microtask. It ends the turn, not the process.
      this.#controller?.abort(error as Error);
    }
    opening.worked?.(clock.now() - began);
  };

  /** Reads the chunks of a network read at once. */
  #read(): void {
    const [first] = this.#chunks;
    if (first === undefined || this.#isEnded) return;
    const bytes = this.#chunks.length === 1 ? first : joined(this.#chunks);
    this.#chunks = [];
    this.#readText(this.#decoder.write(bytes));
  }

  #readText(text: string): void {
    if (this.#form === "frames") return this.#sse?.feed(text);
    if (this.#form === "unknown") return this.#detectForm(text);
    this.#text += text;
    if (this.#form === "whole") {
      if (this.#text.length > LONGEST_WHOLE) this.#failMalformed(tooLong(LONGEST_WHOLE));
    } else if (this.#text.length > LONGEST_ERROR) {
      this.#failRefused();
      this.#controller?.abort(readEnough);
    }
  }

  /** Reads half a character and half a frame after the connection has closed. */
  #readRest(): void {
    const text = this.#decoder.end();
    if (text !== "") this.#readText(text);
    this.#sse?.end();
    if (!this.#isEnded) this.#reader.end?.(this.#emit);
  }

  /** Tells frames from a whole body by the first character after white space, which is surer than the header. */
  #detectForm(piece: string): void {
    // Only the new text is searched: some upstreams send blank lines for minutes before an answer.
    const inPiece = piece.search(/\S/);
    const before = this.#text.length;
    const text = this.#text + piece;
    // A byte order mark counts as space.
    if (inPiece === -1) {
      this.#text = text;
      if (text.length > MAX_BLANKS)
        this.#failMalformed(
          `sent more than ${MAX_BLANKS} blank characters and no answer. Try again, or check the server at its \`base_url\`.`,
        );
      return;
    }
    const at = before + inPiece;
    this.#text = "";
    const first = text.charAt(at);
    // The address of a web page is right for people and wrong for programs.
    if (first === "<")
      return this.#failMalformed(
        "answered with a web page. Check its `base_url`: most end in `/v1`.",
      );
    const type = headerValue(this.#headers["content-type"]);
    const isWhole =
      first === "{" ||
      first === "[" ||
      // No field of a stream begins like JSON, nor JSON like a field.
      (!":deir".includes(first) && type.includes("json"));
    if (isWhole) {
      this.#form = "whole";
      return this.#readText(text.slice(at));
    }
    this.#form = "frames";
    this.#sse = new SseReader(this.#frame, { onRun: this.#run });
    if (!type.includes("event-stream")) this.#text = text.slice(0, LONGEST_ERROR);
    this.#sse.feed(text);
  }

  readonly #frame = (data: string, name: string | undefined, partial: boolean): void => {
    if (this.#isEnded) return;
    this.#reader.frame(data, name, partial, this.#emit);
    if (this.#reader.done()) this.#finish();
  };

  readonly #run = (text: string, at: number): number =>
    this.#isEnded ? at : (this.#reader.run?.(text, at, this.#emit) ?? at);

  /** Ends the turn. The connection is kept for the next one if the exchange ends soon. */
  #finish(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { sink, connection } = this.#owner;
    sink.flush();
    sink.end();
    if (this.#isClosed) return;
    this.#controller?.resume();
    // The end is mostly in the same network read, and no timer is needed.
    queueMicrotask(() => {
      if (this.#isClosed) return;
      const { clock } = connection;
      this.#cancelTimer = clock.at(clock.now() + REST_MS, () =>
        this.#controller?.abort(readEnough),
      );
    });
  }

  #failRefused(): void {
    const { failing, clock } = this.#owner.connection;
    const answered = { status: this.#status, headers: this.#headers, body: this.#text };
    this.#fail(httpFailure(failing, { ...answered, now: clock.date() }));
  }

  #failMalformed(problem: string): void {
    this.#fail(badAnswer(this.#owner.connection.failing, problem));
    this.#controller?.abort(readEnough);
  }

  /** Ends with a failure: as the last event, or before the first event as a failed attempt. */
  #fail(failure: Failure): void {
    this.#isEnded = true;
    if (this.#hasEmitted) {
      const { sink } = this.#owner;
      try {
        this.#emit({ type: "turn-fail", fault: failure.fault });
        sink.flush();
      } finally {
        sink.end();
      }
      return;
    }
    // A transport may fail before `send` has returned, and a source emits nothing before it has returned.
    queueMicrotask(() => {
      if (!this.#isStopped) this.#owner.failed(failure);
    });
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  // A read may have a thousand chunks, and an iterator makes an object for each.
  for (let at = 0; at < chunks.length; at++) length += chunks[at]?.length ?? 0;
  const all = new Uint8Array(length);
  length = 0;
  for (let at = 0; at < chunks.length; at++) {
    const chunk = chunks[at];
    if (chunk === undefined) continue;
    all.set(chunk, length);
    length += chunk.length;
  }
  return all;
}
