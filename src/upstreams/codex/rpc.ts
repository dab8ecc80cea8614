import { fieldsOf, numberOf, filledText } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { CodexError } from "./faults.ts";

export type RequestId = string | number;

/** Receives the app-server's messages about one thread. */
export type Listener = {
  onNotification(method: string, params: Fields): void;
  /** Receives a request of the app-server's. True: the listener responds to it. */
  onRequest(id: RequestId, method: string, params: Fields): boolean;
  onExit(error: CodexError): void;
  /** True if a notification need not be parsed. Its method and mostly its turn are known. */
  ignores?(method: string, turn: string | undefined): boolean;
};

export type RpcOptions = {
  /** Receives one or more lines, each with its line end. */
  readonly send: (lines: string) => void;
  readonly clock: Clock;
  /** Longest time of a request, in milliseconds. */
  readonly timeout: number;
  /** Most pending requests; others wait. */
  readonly limit: number;
  readonly onUnexpected: (what: Unexpected) => void;
  /** Called if requests time out and no line is received: the process hangs. */
  readonly onHang?: (() => void) | undefined;
  /** Receives notifications about no thread. */
  readonly onNotification?: ((method: string, params: Fields) => void) | undefined;
};

/** A message without a receiver. */
export type Unexpected = "malformed" | "unknown-thread" | "unknown-request" | "unknown-answer";

type Pending = {
  readonly method: string;
  readonly params: Fields;
  readonly urgent: boolean;
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: Error) => void;
  /** Rejections by the app-server because it was busy. */
  rejections: number;
  timeoutAt: number;
};

/** The request was not taken and may be sent again. */
export const OVERLOADED = -32001;
const UNKNOWN_METHOD = -32601;
const MAX_REJECTIONS = 6;
const FIRST_WAIT = 50;
/** The app-server is known to lose single requests; two in a row without any line from it mean that it hangs. */
const MAX_TIMEOUTS = 2;
/** Longest wait of a message that is not urgent for another in the same write. */
const DELAY_MS = 100;
/** Characters; parsing a shorter line costs no more than matching `HEAD`. */
const LONG_LINE = 2_000;

/**
 * The head of a notification's line: method, thread and, where it comes next,
 * turn. An injected conversation is sent back item by item; such lines need not
 * be parsed. A line that begins in another way is parsed.
 */
const HEAD = /^\{"method":"([^"]*)","params":\{"threadId":"([^"]*)"(?:,"turnId":"([^"]*)")?/;

/** JSON-RPC as the app-server speaks it: one message a line, requests in both directions. */
export class Rpc {
  readonly #options: RpcOptions;
  /** Oldest first, and so in the order of their timeouts. */
  readonly #pending = new Map<RequestId, Pending>();
  readonly #waiting: Pending[] = [];
  /** One timer for all pending requests: most are answered long before. */
  #cancelTimer: (() => void) | undefined;
  readonly #listeners = new Map<string, Listener>();
  /** The next write. One write for all messages of a tick: the write costs more than the bytes. */
  #unsent = "";
  #lastId = 0;
  /** Timeouts since the last line was received. */
  #timeouts = 0;
  #error: CodexError | undefined;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Rejects with a CodexError. */
  request(method: string, params: Fields, urgent = true): Promise<Fields> {
    return new Promise((resolve, reject) =>
      this.#request({ method, params, urgent, resolve, reject, rejections: 0, timeoutAt: 0 }),
    );
  }

  notify(method: string): void {
    this.#send({ method });
  }

  respond(id: RequestId, result: Fields): void {
    this.#send({ id, result });
  }

  respondError(id: RequestId, message: string, urgent = true): void {
    this.#send({ id, error: { code: UNKNOWN_METHOD, message } }, urgent);
  }

  /** Subscribes to a thread until the returned function is called. */
  subscribe(thread: string, listener: Listener): () => void {
    this.#listeners.set(thread, listener);
    return () => void this.#listeners.delete(thread);
  }

  receive(line: string): void {
    this.#timeouts = 0;
    if (this.#isIgnored(line)) return;
    const message = fieldsOf(jsonOf(line));
    const id = message?.id;
    const method = filledText(message?.method);
    const isId = typeof id === "number" || typeof id === "string";
    if (message === undefined || (method === undefined && !isId))
      return this.#options.onUnexpected("malformed");
    if (method === undefined) return isId ? this.#settle(id, message) : undefined;
    const params = fieldsOf(message.params) ?? {};
    if (isId) this.#serve(id, method, params);
    else this.#notified(method, params);
  }

  /** Rejects all pending and later requests, because the process has ended. */
  fail(error: CodexError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#cancelTimer?.();
    for (const { reject } of [...this.#pending.values(), ...this.#waiting]) reject(error);
    this.#pending.clear();
    this.#waiting.length = 0;
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.onExit(error);
  }

  #isIgnored(line: string): boolean {
    if (line.length < LONG_LINE) return false;
    const [, method = "", thread = "", turn] = HEAD.exec(line) ?? [];
    return thread !== "" && this.#listeners.get(thread)?.ignores?.(method, turn) === true;
  }

  #request(request: Pending): void {
    if (this.#error !== undefined) return request.reject(this.#error);
    if (this.#pending.size >= this.#options.limit) return void this.#waiting.push(request);
    const { clock, timeout } = this.#options;
    const { method, params, urgent } = request;
    const id = ++this.#lastId;
    request.timeoutAt = clock.now() + timeout;
    this.#pending.set(id, request);
    this.#cancelTimer ??= clock.at(request.timeoutAt, () => this.#timedOut());
    this.#send({ method, id, params }, urgent);
  }

  #requestNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#request(next);
  }

  #timedOut(): void {
    const { clock, timeout: ms, limit, onHang } = this.#options;
    const now = clock.now();
    for (const [id, { method, timeoutAt, reject }] of this.#pending) {
      if (timeoutAt > now) break;
      this.#pending.delete(id);
      this.#timeouts++;
      reject(new CodexError({ type: "no-reply", method, ms }));
    }
    if (this.#timeouts >= MAX_TIMEOUTS) onHang?.();
    const [next] = this.#pending.values();
    this.#cancelTimer = next && clock.at(next.timeoutAt, () => this.#timedOut());
    for (let room = limit - this.#pending.size; room > 0; room--) this.#requestNext();
  }

  #settle(id: RequestId, message: Fields): void {
    const request = this.#pending.get(id);
    // A response after the timeout.
    if (request === undefined) return this.#options.onUnexpected("unknown-answer");
    this.#pending.delete(id);
    this.#requestNext();
    const error = fieldsOf(message.error);
    if (error === undefined) return request.resolve(fieldsOf(message.result) ?? {});
    const code = numberOf(error.code) ?? 0;
    if (code === OVERLOADED && request.rejections < MAX_REJECTIONS) {
      const { clock } = this.#options;
      const wait = FIRST_WAIT * 2 ** request.rejections++;
      clock.at(clock.now() + wait, () => this.#request(request));
      return;
    }
    const text = filledText(error.message) ?? "no reason given";
    const data = fieldsOf(error.data);
    request.reject(new CodexError({ type: "rpc", code, message: text, data }));
  }

  #serve(id: RequestId, method: string, params: Fields): void {
    const listener = this.#listeners.get(filledText(params.threadId) ?? "");
    if (listener?.onRequest(id, method, params) === true) return;
    this.#options.onUnexpected("unknown-request");
    this.respondError(id, `Patchbay does not support ${method.slice(0, 60)}.`);
  }

  #notified(method: string, params: Fields): void {
    const thread = filledText(params.threadId);
    if (thread === undefined) return this.#options.onNotification?.(method, params);
    const listener = this.#listeners.get(thread);
    if (listener === undefined) this.#options.onUnexpected("unknown-thread");
    else listener.onNotification(method, params);
  }

  #send(message: Fields, urgent = true): void {
    if (this.#error !== undefined) return;
    const { clock } = this.#options;
    const isFirst = this.#unsent === "";
    this.#unsent += `${lineOf(message)}\n`;
    if (urgent) queueMicrotask(this.#flush);
    else if (isFirst) clock.at(clock.now() + DELAY_MS, this.#flush);
  }

  readonly #flush = (): void => {
    const lines = this.#unsent;
    this.#unsent = "";
    if (lines !== "" && this.#error === undefined) this.#options.send(lines);
  };
}

/**
 * A message as a line. A lone surrogate, left where a text was cut inside a
 * character, is valid JSON here but not to the app-server, which would not reply.
 */
function lineOf(message: Fields): string {
  const line = JSON.stringify(message);
  if (!line.includes("\\ud")) return line;
  return line.replace(/\\(?:ud[89a-f][\da-f]{2}|.)/g, (one) => (one.length > 2 ? "\\ufffd" : one));
}
