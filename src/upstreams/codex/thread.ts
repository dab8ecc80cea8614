import { fieldsOf, textOf } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { AnswerReader, heard, RAW_ITEM, RETRYING, type Said } from "./events.ts";
import { faultOf, outOfReach, type CodexFailing } from "./faults.ts";
import type { BufferedSink } from "./buffered-sink.ts";
import type { CodexRequest } from "./request.ts";
import { willWait, type Continuation } from "./parked.ts";
import { RpcError, type Listener, type RequestId } from "./rpc.ts";
import type { AppServer } from "./server.ts";

type Event = TurnEvent<UpstreamName>;

export type ThreadOptions = {
  readonly server: AppServer;
  readonly request: CodexRequest;
  readonly failing: CodexFailing;
  readonly clock: Clock;
  /** Where the thread is said to run; it does nothing there. */
  readonly directory: string;
  /** How long it may be silent in mid-answer, in milliseconds. */
  readonly idle: number;
  /** It waits for results: whoever takes it over (true) goes on with it or releases it. */
  readonly park: (thread: Thread, said: Said) => boolean;
  /** It is over, however that came. */
  readonly over: (thread: Thread) => void;
};

/** What one answer is to those who wait for it. */
export type Answering = {
  /** It is over, one way or the other. */
  readonly done: () => void;
  /** It came to nothing before its first word, through no fault of the request. */
  readonly again?: (() => void) | undefined;
};

const idle: Answering = { done: () => {} };

/** Milliseconds of silence in mid-answer after which its calls are given up. */
const DOUBTFUL = 5_000;

/** `running`: its model or its calls are still under way. Urgent: a model is, or a place is wanted. */
type Release = { readonly running: boolean; readonly urgent: boolean };

/** A thread of Codex's for one conversation, as far as it is needed. */
export class Thread implements Listener {
  readonly #options: ThreadOptions;
  #reader: AnswerReader;
  #out: BufferedSink<Event> | undefined;
  #id: string | undefined;
  #turn: string | undefined;
  #unwatch = (): void => {};
  #lastHeard = 0;
  #watching: (() => void) | undefined;
  #released = false;
  #beginning = false;
  #unwanted = false;
  /** Some of its calls were given up before its model was done. */
  #doubted = false;
  /** The calls that Codex waits for, by call id. */
  readonly #slots = new Map<string, RequestId>();
  /** What such calls are answered with that Codex has not asked for yet; a later call may have the same id. */
  readonly #answers = new Map<string, readonly Fields[]>();
  #answering = idle;

  /** What it was last told: all it knows, whichever way it was told. */
  request: CodexRequest;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.request = options.request;
    this.#reader = new AnswerReader(options.failing, options.request.model);
  }

  /** Starts a fresh thread, tells it the conversation, and lets it answer. */
  async answer(out: BufferedSink<Event>, answering: Answering): Promise<void> {
    this.#out = out;
    this.#answering = answering;
    this.#beginning = true;
    try {
      await this.#begin(out);
      this.#beginning = false;
      const running = this.#reader.state() !== "over";
      if (this.#unwanted || out.left()) this.release({ running, urgent: true });
    } catch (error) {
      this.#beginning = false;
      this.#fail(refused(error, this.#options.failing));
    }
  }

  async #begin(out: BufferedSink<Event>): Promise<void> {
    const { request, directory } = this.#options;
    const { rpc } = this.#options.server;
    const { thread } = await rpc.request("thread/start", {
      cwd: directory,
      environments: [],
      approvalPolicy: "never",
      sandbox: "read-only",
      ephemeral: true,
      experimentalRawEvents: true,
      ...request.thread,
    });
    const threadId = (this.#id = textOf(fieldsOf(thread)?.id) ?? "");
    this.#unwatch = rpc.watch(threadId, this);
    const { items, options } = request;
    if (items.length > 0 && !out.left())
      await rpc.request("thread/inject_items", { threadId, items });
    if (out.left()) return;
    this.#stayAwake();
    const { turn } = await rpc.request("turn/start", { threadId, input: [], ...options });
    this.#turn = textOf(fieldsOf(turn)?.id);
  }

  /**
   * Goes on after its calls: with what the user says beyond the results first,
   * which Codex then tells after them. False: it cannot, and nothing was said.
   */
  async proceed(
    { answers, more }: Continuation,
    request: CodexRequest,
    out: BufferedSink<Event>,
    answering: Answering,
  ): Promise<boolean> {
    const { rpc } = this.#options.server;
    const [threadId, turn] = [this.#id, this.#turn];
    if (this.#released || threadId === undefined || turn === undefined) return false;
    try {
      for (const input of more)
        await rpc.request("turn/steer", { threadId, expectedTurnId: turn, input });
    } catch {
      this.release(); // What it was told cannot be taken back, so it is of no more use.
      return false;
    }
    if (this.#isOver()) return false;
    this.#answering = answering;
    this.request = request;
    if (out.left()) {
      this.release();
      return true;
    }
    this.#out = out;
    for (const [at, { id }] of this.#reader.said.calls.entries())
      this.#answers.set(id, answers[at] ?? []);
    this.#reader = new AnswerReader(this.#options.failing, this.#options.request.model, turn);
    this.#stayAwake();
    for (const [callId, slot] of this.#slots) this.#fill(slot, callId);
    return true;
  }

  #isOver(): boolean {
    return this.#released;
  }

  /** Answers a call that Codex asks for, if its result is there. */
  #fill(slot: RequestId, callId: string): boolean {
    const contentItems = this.#answers.get(callId);
    if (contentItems === undefined) return false;
    this.#answers.delete(callId);
    this.#slots.delete(callId);
    this.#options.server.rpc.answer(slot, { contentItems, success: true });
    return true;
  }

  note(method: string, params: Fields): void {
    const out = this.#out;
    if (out === undefined) return;
    if (method === RETRYING && params.willRetry === true)
      return this.#fail(outOfReach(fieldsOf(params.error), this.#options.failing, out.begun()));
    this.#lastHeard = this.#options.clock.now();
    this.#reader.note(method, params, out.emit);
    this.#turn ??= this.#reader.turn();
    const state = this.#reader.state();
    if (state === "open") return out.isFull() ? this.#fail(slow(this.#options.failing)) : undefined;
    out.end();
    this.#watching?.();
    const { said } = this.#reader;
    const running = state === "calls";
    const waits = running && !this.#doubted && willWait(said, this.request);
    // One that does not wait asks its model again at once, unless it is stopped before.
    if (!waits || !this.#options.park(this, said))
      return this.release({ running, urgent: running && !waits });
    this.#out = undefined;
    this.#leave();
  }

  asked(id: RequestId, method: string, params: Fields): boolean {
    if (method !== "item/tool/call") return false;
    const callId = textOf(params.callId) ?? "";
    if (!this.#fill(id, callId)) this.#slots.set(callId, id);
    return true;
  }

  gone(fault: Fault): void {
    this.#released = true;
    this.#fail(fault);
    this.#finish();
  }

  /** Whatever comes when it is over, and items of no turn of its own: what it has just been told. */
  skips(method: string, turn: string | undefined): boolean {
    if (method === RAW_ITEM && turn !== this.#reader.turn()) return true;
    return this.#released && heard.has(method);
  }

  /** Ends whatever it does. It is never taken up again. */
  release(how: Release = { running: true, urgent: true }): void {
    if (this.#released) return;
    if (this.#beginning) {
      // What it is to let go of is not known yet.
      this.#unwanted = true;
      return;
    }
    this.#released = true;
    this.#out = undefined;
    if (!how.urgent) this.#leave();
    void this.#letGo(how).finally(() => this.#finish());
  }

  async #letGo({ running, urgent }: Release): Promise<void> {
    const { rpc } = this.#options.server;
    if (this.#id === undefined) return;
    const threadId = this.#id;
    try {
      if (running && this.#turn !== undefined)
        await rpc.request("turn/interrupt", { threadId, turnId: this.#turn }, { urgent });
      for (const id of this.#slots.values()) rpc.refuse(id, "The turn is over.", urgent);
      await rpc.request("thread/unsubscribe", { threadId }, { urgent });
    } catch {
      // It was over already, or the process is: either way nothing is left to let go of.
    }
    this.#unwatch();
  }

  #fail(fault: Fault): void {
    const out = this.#out;
    this.#out = undefined;
    // The process died and nothing was said: another may do the same from the beginning.
    const { again } = this.#answering;
    if (out?.begun() === false && fault.code === "upstream.cut" && again !== undefined)
      this.#answering = { done: this.#then(this.#answering.done, again) };
    else {
      out?.emit({ type: "turn-fail", fault });
      out?.end();
    }
    this.release();
  }

  #then(first: () => void, second: () => void): () => void {
    return () => {
      first();
      second();
    };
  }

  #finish(): void {
    this.#watching?.();
    this.#out = undefined;
    this.#options.over(this);
    this.#leave();
  }

  /** The answer is over, and so is what it kept busy. */
  #leave(): void {
    const { done } = this.#answering;
    this.#answering = idle;
    done();
  }

  /** Looks from time to time whether it has fallen silent: cheaper than a timer for every event. */
  #stayAwake(): void {
    const { clock, idle: longest, failing } = this.#options;
    const long = Math.min(DOUBTFUL, longest / 2);
    this.#lastHeard = clock.now();
    const look = (): void => {
      if (this.#out === undefined) return;
      const silence = clock.now() - this.#lastHeard;
      if (silence >= longest) return this.#fail(silent(failing, longest));
      if (silence >= long) this.#doubt();
      const due = silence < long ? long : Math.min(silence + long, longest);
      this.#watching = clock.at(this.#lastHeard + due, look);
    };
    this.#watching = clock.at(this.#lastHeard + long, look);
  }

  /**
   * That its model broke off Codex tells only when all calls before that are
   * answered. A model that is merely slow goes on, but the thread is spoilt.
   */
  #doubt(): void {
    for (const id of this.#slots.values())
      this.#options.server.rpc.refuse(id, "The model has fallen silent.");
    this.#doubted ||= this.#slots.size > 0;
    this.#slots.clear();
  }
}

const silent = ({ name }: CodexFailing, idle: number): Fault =>
  new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` said nothing for ${Math.round(idle / 1000)} s. Try again, or raise \`timeouts.idle\`.`,
  );

const slow = ({ name }: CodexFailing): Fault =>
  new Fault(
    "client.slow",
    `The answer was read so slowly that too much of it was waiting, and upstream \`${name}\` cannot be slowed down; read faster, or ask for less.`,
  );

/** What it means that Codex would not even begin. */
function refused(error: unknown, failing: CodexFailing): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof RpcError)) throw error;
  const { code, message, data } = error;
  if (code === -32001)
    return new Fault(
      "upstream.overloaded",
      `Upstream \`${failing.name}\` is overloaded; try again.`,
      {
        retryAfter: "1",
      },
    );
  if (data?.input_error_code === "input_too_large")
    return new Fault(
      "upstream.too_large",
      `Upstream \`${failing.name}\` takes no text this long; send less.`,
    );
  const fault = faultOf({ message: message.slice(0, 1000), codexErrorInfo: "badRequest" }, failing);
  return fault instanceof Fault ? fault : new Fault("upstream.refused", message);
}
