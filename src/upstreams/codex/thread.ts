import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Fields } from "../../turn/turn.ts";
import type { AnswerTap } from "../tap.ts";
import { AnswerReader, type ModelOutput, RAW_ITEM } from "./answer-reader.ts";
import type { BufferedSink } from "./buffered-sink.ts";
import { awaitsResults, type Resumption } from "./continuation.ts";
import { type CodexContext, CodexError, failureOf } from "./faults.ts";
import type { TurnSlot } from "./worker.ts";
import type { CodexRequest } from "./request.ts";
import type { Listener, RequestId, Rpc } from "./rpc.ts";

type ThreadOptions = {
  readonly rpc: Rpc;
  readonly request: CodexRequest;
  readonly codex: CodexContext;
  /** Receives the messages of the thread if its first turn is recorded. */
  readonly onMessage?: AnswerTap["message"] | undefined;
  readonly clock: Clock;
  /** Longest silence in mid-answer, in milliseconds. */
  readonly idle: number;
  /** Called if its calls wait for results. True: it is kept until it is continued or released. */
  readonly park: (thread: Thread, output: ModelOutput) => boolean;
  readonly onEnd: (thread: Thread) => void;
};

type Leave = TurnSlot["leave"];

/** Codex's request for the result of a call. */
const TOOL_CALL = "item/tool/call";
/** Milliseconds of silence in mid-answer after which its calls are refused. */
const SUSPICIOUS_MS = 5_000;

/** An ephemeral thread of Codex's: one conversation of requests that continue each other. */
export class Thread implements Listener {
  readonly #options: ThreadOptions;
  #reader: AnswerReader;
  #out: BufferedSink | undefined;
  /** Returns the slot of the running answer. */
  #leave: Leave = () => {};
  #id: string | undefined;
  #turn: string | undefined;
  #starting: Promise<void> | undefined;
  #released = false;
  #unsubscribe = (): void => {};
  #lastReceived = 0;
  #cancelTimer: (() => void) | undefined;
  /** Some of its calls were refused because the model seemed to be gone. */
  #hasRefused = false;
  /** Requests for results that Codex waits for, by call id. */
  readonly #toolRequests = new Map<string, RequestId>();
  /** Results of calls that Codex has not asked for yet; a later call may have the same id. */
  readonly #results = new Map<string, readonly Fields[]>();

  /** The request that it answered last, which has its whole conversation. */
  request: CodexRequest;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.request = options.request;
    this.#reader = new AnswerReader(options.request.model);
  }

  /** Starts a thread, injects the conversation, and lets the model answer. */
  async answer(out: BufferedSink, leave: Leave): Promise<void> {
    this.#out = out;
    this.#leave = leave;
    this.#starting = this.#start().catch((error: unknown) => this.#fail(error));
    await this.#starting;
  }

  async #start(): Promise<void> {
    const { rpc, codex, request } = this.#options;
    const { thread } = await this.#ask("thread/start", {
      cwd: codex.home,
      environments: [],
      approvalPolicy: "never",
      sandbox: "read-only",
      ephemeral: true,
      experimentalRawEvents: true,
      ...request.thread,
    });
    const threadId = (this.#id = filledText(fieldsOf(thread)?.id) ?? "");
    this.#unsubscribe = rpc.subscribe(threadId, this);
    const { items, options } = request;
    if (items.length > 0 && !this.#released)
      await this.#ask("thread/inject_items", { threadId, items });
    if (this.#released) return;
    this.#watchSilence();
    const { turn } = await this.#ask("turn/start", { threadId, input: [], ...options });
    this.#turn = filledText(fieldsOf(turn)?.id);
  }

  #ask(method: string, params: Fields): Promise<Fields> {
    this.#options.onMessage?.("sent", { method, params });
    return this.#options.rpc.request(method, params);
  }

  /**
   * Continues a parked thread. Messages after the results are sent first, and Codex
   * puts them after the results. False: it cannot continue, and nothing was emitted.
   */
  async proceed(
    { results, more }: Resumption,
    request: CodexRequest,
    out: BufferedSink,
    leave: Leave,
  ): Promise<boolean> {
    const { rpc } = this.#options;
    const [threadId, turn] = [this.#id, this.#turn];
    if (this.#released || threadId === undefined || turn === undefined) return false;
    try {
      for (const input of more)
        await rpc.request("turn/steer", { threadId, expectedTurnId: turn, input });
    } catch {
      this.release(); // Input that Codex has taken cannot be withdrawn.
    }
    if (this.#released) return false;
    this.request = request;
    this.#out = out;
    this.#leave = leave;
    for (const [at, { id }] of this.#reader.output.calls.entries())
      this.#results.set(id, results[at] ?? []);
    this.#reader = new AnswerReader(this.#options.request.model, turn);
    this.#watchSilence();
    for (const [callId, id] of this.#toolRequests) this.#respond(id, callId);
    return true;
  }

  /** Responds to Codex's request for a call's result, if that is there. */
  #respond(id: RequestId, callId: string): boolean {
    const contentItems = this.#results.get(callId);
    if (contentItems === undefined) return false;
    this.#results.delete(callId);
    this.#toolRequests.delete(callId);
    this.#options.rpc.respond(id, { contentItems, success: true });
    return true;
  }

  onNotification(method: string, params: Fields): void {
    const out = this.#out;
    if (out === undefined) return;
    this.#options.onMessage?.("received", { method, params });
    this.#lastReceived = this.#options.clock.now();
    try {
      // Codex would wait for its network without end, because streams are not resumed.
      if (method === "error" && params.willRetry === true)
        throw new CodexError({
          type: "offline",
          error: fieldsOf(params.error),
          started: out.started,
        });
      this.#reader.read(method, params, out.emit);
      if (out.isFull && this.#reader.state === "open")
        throw new CodexError({ type: "slow-client" });
    } catch (error) {
      return this.#fail(error);
    }
    this.#turn ??= this.#reader.turn;
    if (this.#reader.state !== "open") this.#answered(out);
  }

  #answered(out: BufferedSink): void {
    const { output, state } = this.#reader;
    out.end();
    this.#out = undefined;
    this.#cancelTimer?.();
    const isWaiting = state === "calls" && !this.#hasRefused && awaitsResults(output, this.request);
    if (isWaiting && this.#options.park(this, output)) return this.#leave();
    // After calls that Codex does not wait for, it asks its model again at once.
    this.release(state === "calls" && !isWaiting);
  }

  onRequest(id: RequestId, method: string, params: Fields): boolean {
    if (method !== TOOL_CALL) return false;
    const callId = filledText(params.callId) ?? "";
    if (!this.#respond(id, callId)) this.#toolRequests.set(callId, id);
    return true;
  }

  onExit(error: CodexError): void {
    this.#released = true;
    this.#fail(error);
    this.#end();
  }

  /** Ignores messages after the release and the items of other turns, which were injected. */
  ignores(method: string, turn: string | undefined): boolean {
    return this.#released
      ? method !== TOOL_CALL
      : method === RAW_ITEM && turn !== this.#reader.turn;
  }

  #fail(error: unknown): void {
    this.#out?.fail(failureOf(error, this.#options.codex));
    this.release();
  }

  /** Ends it in any state. If that is not urgent, its slot is free at once. */
  release(urgent = true): void {
    if (this.#released) return;
    this.#released = true;
    this.#out = undefined;
    if (!urgent) this.#leave();
    void this.#close(urgent).finally(() => this.#end());
  }

  async #close(urgent: boolean): Promise<void> {
    await this.#starting; // The start brings the ids.
    const { rpc } = this.#options;
    const [threadId, turnId] = [this.#id, this.#turn];
    if (threadId === undefined) return;
    const ignore = (): void => {}; // The turn or the process has ended already.
    if (turnId !== undefined && this.#reader.state !== "over")
      await rpc.request("turn/interrupt", { threadId, turnId }, urgent).catch(ignore);
    for (const id of this.#toolRequests.values())
      rpc.respondError(id, "The turn has ended.", urgent);
    await rpc.request("thread/unsubscribe", { threadId }, urgent).catch(ignore);
    this.#unsubscribe();
  }

  #end(): void {
    this.#cancelTimer?.();
    this.#out = undefined;
    this.#options.onEnd(this);
    this.#leave();
  }

  /** Checks for silence a few times instead of setting a timer for every event. */
  #watchSilence(): void {
    const { clock, idle } = this.#options;
    const interval = Math.min(SUSPICIOUS_MS, idle / 2);
    this.#lastReceived = clock.now();
    const check = (): void => {
      if (this.#out === undefined) return;
      const silence = clock.now() - this.#lastReceived;
      if (silence >= idle) return this.#fail(new CodexError({ type: "silent", ms: idle }));
      if (silence >= interval) this.#refuseCalls();
      const next = silence < interval ? interval : Math.min(silence + interval, idle);
      this.#cancelTimer = clock.at(this.#lastReceived + next, check);
    };
    this.#cancelTimer = clock.at(this.#lastReceived + interval, check);
  }

  /**
   * Codex reports that its model broke off only when all earlier calls are
   * answered. A model that is only slow continues, but the thread is not parked.
   */
  #refuseCalls(): void {
    const { rpc } = this.#options;
    for (const id of this.#toolRequests.values())
      rpc.respondError(id, "The model has fallen silent.");
    this.#hasRefused ||= this.#toolRequests.size > 0;
    this.#toolRequests.clear();
  }
}
