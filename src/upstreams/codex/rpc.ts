import { fieldsOf, numberOf, textOf } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { jsonOf } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";

export type RequestId = string | number;

/** Who hears what is said of one thread. */
export type Listener = {
  note(method: string, params: Fields): void;
  /** A request of the other side. Whoever takes it (true) answers it. */
  asked(id: RequestId, method: string, params: Fields): boolean;
  /** The other side is gone. */
  gone(fault: Fault): void;
  /** Whether a notification is of no use to it. */
  skips?(method: string, turn: string | undefined): boolean;
};

export type RpcOptions = {
  readonly send: (line: string) => void;
  readonly clock: Clock;
  /** How long a request may take, in milliseconds. */
  readonly timeout: number;
  /** How many requests may be under way at once; others wait their turn. */
  readonly most: number;
  /** Something came that belongs to nobody. */
  readonly stray: (what: Stray) => void;
  /** Requests are given up and nothing at all is said: the other side has stopped. */
  readonly stopped?: (() => void) | undefined;
  /** Something was said of the process, and of no thread. */
  readonly aside?: ((method: string, params: Fields) => void) | undefined;
};

export type Stray = "malformed" | "unknown-thread" | "unknown-request" | "unknown-answer";

/** An error that the other side answered with. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: Fields | undefined;

  constructor(code: number, message: string, data?: Fields) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export type Asking = {
  /** Others wait for something to go out with. */
  readonly urgent?: boolean;
};

type Question = {
  readonly method: string;
  readonly params: Fields;
  readonly urgent: boolean;
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: Error) => void;
  tried: number;
  /** When it is given up. */
  due: number;
};

const OVERLOADED = -32001;
const UNKNOWN_METHOD = -32601;
const RETRIES = 6;
const FIRST_WAIT = 50;
/** One request may get lost; with so many in a row that is no accident. */
const MOST_UNHEARD = 2;
/** So long what is not urgent waits for company. */
const HELD_MS = 100;
/** Characters; a line from here on is looked at before it is read. */
const LONG = 2_000;

/**
 * A notification, by how its line begins: its method, its thread and, where it
 * comes next, its turn. Much of what is said nobody needs, above all the
 * conversation, which a thread that is told it tells back item by item; it need
 * not be read to know that. A line that begins otherwise is read, as is one so
 * short that reading it costs no more than this.
 */
const beginning = /^\{"method":"([^"]*)","params":\{"threadId":"([^"]*)"(?:,"turnId":"([^"]*)")?/;

/** JSON-RPC as the app-server speaks it: one message a line, requests in both directions. */
export class Rpc {
  readonly #options: RpcOptions;
  /** Oldest first, which is also the order in which they are given up. */
  readonly #pending = new Map<RequestId, Question>();
  readonly #waiting: Question[] = [];
  /** One alarm for all that is pending: most of it is answered long before. */
  #alarm: (() => void) | undefined;
  readonly #listeners = new Map<string, Listener>();
  /** Lines that wait for others to go out with: a write costs more than what it says. */
  #held: string[] = [];
  #lastId = 0;
  /** How many requests were given up since anything was heard. */
  #unheard = 0;
  #fault: Fault | undefined;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Asks, and again for as long as the other side is overloaded. Rejects with an RpcError or a Fault. */
  request(method: string, params: Fields, { urgent = true }: Asking = {}): Promise<Fields> {
    return new Promise((resolve, reject) =>
      this.#ask({ method, params, urgent, resolve, reject, tried: 0, due: 0 }),
    );
  }

  notify(method: string): void {
    this.#say({ method });
  }

  answer(id: RequestId, result: Fields): void {
    this.#say({ id, result });
  }

  refuse(id: RequestId, message: string, urgent = true): void {
    this.#say({ id, error: { code: UNKNOWN_METHOD, message } }, urgent);
  }

  /** Hears what is said of a thread until the returned function is called. */
  watch(thread: string, listener: Listener): () => void {
    this.#listeners.set(thread, listener);
    return () => void this.#listeners.delete(thread);
  }

  /** Takes one line of the other side. */
  hear(line: string): void {
    this.#unheard = 0;
    if (this.#isSkipped(line)) return;
    const message = fieldsOf(jsonOf(line));
    if (message === undefined) return this.#options.stray("malformed");
    const { id } = message;
    const method = textOf(message.method);
    const isId = typeof id === "number" || typeof id === "string";
    if (method === undefined) {
      if (isId) this.#settle(id, message);
      else this.#options.stray("malformed");
      return;
    }
    const params = fieldsOf(message.params) ?? {};
    if (isId) this.#serve(id, method, params);
    else this.#tell(method, params);
  }

  /** The other side is gone: everything under way fails with this. */
  fail(fault: Fault): void {
    if (this.#fault !== undefined) return;
    this.#fault = fault;
    this.#alarm?.();
    const asked = [...this.#pending.values(), ...this.#waiting.splice(0)];
    this.#pending.clear();
    for (const { reject } of asked) reject(fault);
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.gone(fault);
  }

  #isSkipped(line: string): boolean {
    if (line.length < LONG) return false;
    const [, method = "", thread = "", turn] = beginning.exec(line) ?? [];
    return thread !== "" && this.#listeners.get(thread)?.skips?.(method, turn) === true;
  }

  #ask(question: Question): void {
    if (this.#fault !== undefined) return question.reject(this.#fault);
    if (this.#pending.size >= this.#options.most) return void this.#waiting.push(question);
    const { clock, timeout } = this.#options;
    const { method, params, urgent } = question;
    const id = ++this.#lastId;
    question.due = clock.now() + timeout;
    this.#pending.set(id, question);
    this.#alarm ??= clock.at(question.due, () => this.#giveUp());
    this.#say({ method, id, params }, urgent);
  }

  #askNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#ask(next);
  }

  #giveUp(): void {
    const { clock, timeout } = this.#options;
    const now = clock.now();
    for (const [id, { method, due, reject }] of this.#pending) {
      if (due > now) break;
      this.#pending.delete(id);
      this.#unheard++;
      reject(silent(method, timeout));
    }
    if (this.#unheard >= MOST_UNHEARD) this.#options.stopped?.();
    const [next] = this.#pending.values();
    this.#alarm = next && clock.at(next.due, () => this.#giveUp());
    for (let room = this.#options.most - this.#pending.size; room > 0; room--) this.#askNext();
  }

  #settle(id: RequestId, message: Fields): void {
    const question = this.#pending.get(id);
    // The answer to a request that was given up.
    if (question === undefined) return this.#options.stray("unknown-answer");
    this.#pending.delete(id);
    this.#askNext();
    const error = fieldsOf(message.error);
    if (error === undefined) return question.resolve(fieldsOf(message.result) ?? {});
    const code = numberOf(error.code) ?? 0;
    if (code === OVERLOADED && question.tried < RETRIES) return this.#askLater(question);
    const said = textOf(error.message) ?? "no reason given";
    question.reject(new RpcError(code, said, fieldsOf(error.data)));
  }

  #askLater(question: Question): void {
    const { clock } = this.#options;
    const wait = FIRST_WAIT * 2 ** question.tried++;
    clock.at(clock.now() + wait, () => this.#ask(question));
  }

  #serve(id: RequestId, method: string, params: Fields): void {
    const listener = this.#listeners.get(textOf(params.threadId) ?? "");
    if (listener?.asked(id, method, params) === true) return;
    this.#options.stray("unknown-request");
    this.refuse(id, `Patchbay does not do ${method.slice(0, 60)}.`);
  }

  #tell(method: string, params: Fields): void {
    const thread = textOf(params.threadId);
    if (thread === undefined) return this.#options.aside?.(method, params);
    const listener = this.#listeners.get(thread);
    if (listener === undefined) this.#options.stray("unknown-thread");
    else listener.note(method, params);
  }

  #say(message: Fields, urgent = true): void {
    if (this.#fault !== undefined) return;
    const { clock } = this.#options;
    this.#held.push(lineOf(message));
    if (urgent) this.#speak();
    else if (this.#held.length === 1) clock.at(clock.now() + HELD_MS, () => this.#speak());
  }

  #speak(): void {
    if (this.#fault !== undefined) return;
    for (const line of this.#held.splice(0)) this.#options.send(line);
  }
}

/**
 * A message as a line. Half a character, as a text has that was cut off in the
 * middle of one, is JSON here, but not to the other side, which would not answer.
 */
function lineOf(message: Fields): string {
  const line = JSON.stringify(message);
  if (!line.includes("\\ud")) return line;
  return line.replace(/\\(?:ud[89a-f][\da-f]{2}|.)/g, (one) => (one.length > 2 ? "\\ufffd" : one));
}

const silent = (method: string, timeout: number): Fault =>
  new Fault(
    "upstream.headers_timeout",
    `The upstream did not answer \`${method}\` within ${Math.round(timeout / 1000)} s; try again.`,
    { log: { method } },
  );
