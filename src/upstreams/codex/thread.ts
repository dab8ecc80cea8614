import { fieldsOf, textOf } from "../../dialects/loose.ts";
import type { Clock } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { eventReader, type EventReader } from "./events.ts";
import { faultOf, type CodexFailing } from "./faults.ts";
import type { Outlet } from "./outlet.ts";
import type { CodexRequest } from "./request.ts";
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
};

/** A thread of Codex's for one conversation, as far as it is needed. */
export class Thread implements Listener {
  readonly #options: ThreadOptions;
  #reader: EventReader;
  #out: Outlet<Event> | undefined;
  #id: string | undefined;
  #turn: string | undefined;
  #unwatch = (): void => {};
  #lastHeard = 0;
  #watching: (() => void) | undefined;
  #released = false;
  /** The calls that Codex waits for, by call id. */
  readonly #slots = new Map<string, RequestId>();
  /** What the answer came to; called once for each answer. */
  #done: () => void = () => {};

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#reader = eventReader(options.failing, options.request.model);
  }

  /** Starts a fresh thread, tells it the conversation, and lets it answer. `done`: the answer is over. */
  async answer(out: Outlet<Event>, done: () => void): Promise<void> {
    this.#out = out;
    this.#done = done;
    const { request, directory } = this.#options;
    const { rpc } = this.#options.server;
    try {
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
      if (out.over()) return this.release();
      if (request.items.length > 0)
        await rpc.request("thread/inject_items", { threadId, items: request.items });
      if (out.over()) return this.release();
      this.#stayAwake();
      const { turn } = await rpc.request("turn/start", { threadId, input: [], ...request.options });
      this.#turn = textOf(fieldsOf(turn)?.id);
      if (out.over()) this.release();
    } catch (error) {
      this.#fail(refused(error, this.#options.failing));
    }
  }

  note(method: string, params: Fields): void {
    const out = this.#out;
    if (out === undefined) return;
    this.#lastHeard = this.#options.clock.now();
    this.#reader.note(method, params, out.emit);
    this.#turn ??= this.#reader.turn();
    const state = this.#reader.state();
    if (state === "open") return;
    out.end();
    this.release(state === "calls");
  }

  asked(id: RequestId, method: string, params: Fields): boolean {
    if (method !== "item/tool/call") return false;
    this.#slots.set(textOf(params.callId) ?? "", id);
    return true;
  }

  gone(fault: Fault): void {
    this.#released = true;
    this.#fail(fault);
    this.#finish();
  }

  /** Ends whatever it does. It is never taken up again. */
  release(running = true): void {
    if (this.#released) return;
    this.#released = true;
    this.#out = undefined;
    void this.#letGo(running).finally(() => this.#finish());
  }

  async #letGo(running: boolean): Promise<void> {
    const { rpc } = this.#options.server;
    if (this.#id === undefined) return;
    const threadId = this.#id;
    try {
      if (running && this.#turn !== undefined)
        await rpc.request("turn/interrupt", { threadId, turnId: this.#turn });
      for (const id of this.#slots.values()) rpc.refuse(id, "The turn is over.");
      await rpc.request("thread/unsubscribe", { threadId });
    } catch {
      // It was over already, or the process is: either way nothing is left to let go of.
    }
    this.#unwatch();
  }

  #fail(fault: Fault): void {
    this.#out?.emit({ type: "turn-fail", fault });
    this.#out?.end();
    this.release();
  }

  #finish(): void {
    this.#watching?.();
    this.#out = undefined;
    const done = this.#done;
    this.#done = () => {};
    done();
  }

  /** Looks from time to time whether it has fallen silent: cheaper than a timer for every event. */
  #stayAwake(): void {
    const { clock, idle, failing } = this.#options;
    this.#lastHeard = clock.now();
    const look = (): void => {
      if (this.#out === undefined) return;
      const due = this.#lastHeard + idle;
      if (clock.now() < due) this.#watching = clock.at(due, look);
      else this.#fail(silent(failing, idle));
    };
    this.#watching = clock.at(this.#lastHeard + idle, look);
  }
}

const silent = ({ name }: CodexFailing, idle: number): Fault =>
  new Fault(
    "upstream.idle_timeout",
    `Upstream \`${name}\` said nothing for ${Math.round(idle / 1000)} s. Try again, or raise \`timeouts.idle\`.`,
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
  return fault === "length" ? new Fault("upstream.refused", message) : fault;
}
