/** Upstreams that answer from a bundle. */

import { sourceOf, type Source } from "../../../stream/flow.ts";
import type { Clock } from "../../../turn/clock.ts";
import type { TurnEvent } from "../../../turn/event.ts";
import { Fault, type FaultCode } from "../../../turn/fault.ts";
import { faults } from "../../../turn/fault-table.ts";
import type { UpstreamName } from "../../../turn/names.ts";
import type { Profile } from "../../../turn/profile.ts";
import type {
  Connect,
  ResponseController,
  ResponseHandler,
} from "../../../upstreams/http/transport.ts";
import type { Upstream } from "../../../upstreams/upstream.ts";
import type { Bundle, BundleTry } from "../bundle.ts";

/** A request of the replayed turn to an upstream, and the recorded one at its place. */
export type SentRequest = {
  readonly upstream: string;
  readonly path: string;
  readonly body: string;
  /** Undefined: the recorded turn made no such request. */
  readonly recorded: BundleTry | undefined;
};

/** The upstreams of one replay. Each gives its recorded answers in their order. */
export class RecordedUpstreams {
  readonly sent: SentRequest[] = [];
  readonly #clock: Clock;
  readonly #names: readonly string[];
  readonly #left: ReadonlyMap<string, BundleTry[]>;

  constructor({ tries }: Pick<Bundle, "tries">, clock: Clock) {
    this.#clock = clock;
    this.#left = Map.groupBy(tries, ({ upstream }) => upstream);
    this.#names = [...this.#left.keys()];
  }

  /** The address of an upstream in the replay. */
  address(upstream: string): string {
    return `http://u${this.#names.indexOf(upstream)}.recorded.invalid`;
  }

  readonly connect: Connect = ({ origin }) => ({
    send: (request, handler) => {
      const upstream = this.#names.find((name) => this.address(name) === origin) ?? origin;
      const recorded = this.#left.get(upstream)?.shift();
      const body = new TextDecoder().decode(request.body);
      this.sent.push({ upstream, path: request.path, body, recorded });
      const playback = new Playback(recorded, handler, this.#clock);
      queueMicrotask(() => playback.start());
    },
    encode: (text) => new TextEncoder().encode(text),
    newDecoder: () => {
      const own = new TextDecoder("utf-8", { ignoreBOM: true });
      return { write: (chunk) => own.decode(chunk, { stream: true }), end: () => own.decode() };
    },
    close: async () => {},
  });

  withoutHttp(name: string, profile: Profile): Upstream {
    const open = (): Source<Event> => eventsOf(this.#left.get(name)?.shift());
    return {
      name,
      profile,
      prepare: () => ({ decisions: [], open }),
      close: async () => {},
    };
  }
}

/** Gives a handler the recorded answer, each piece as long after the request as it was recorded. */
class Playback implements ResponseController {
  readonly #handler: ResponseHandler;
  readonly #clock: Clock;
  readonly #steps: { readonly moment: number; readonly run: () => void }[] = [];
  #isOver = false;
  #isPaused = false;
  #callOff = (): void => {};

  constructor(recorded: BundleTry | undefined, handler: ResponseHandler, clock: Clock) {
    this.#handler = handler;
    this.#clock = clock;
    const unmatched = withCode("UNMATCHED", "No such request was recorded.");
    const { at: sent, head, chunks, end } = recorded ?? { at: 0, chunks: [], end: undefined };
    const start = clock.now() - sent;
    const add = (at: number, run: () => void): void =>
      void this.#steps.push({ moment: start + at, run });
    if (head !== undefined)
      add(head.at, () => handler.onResponseStart(this, head.status, { ...head.headers }));
    for (const { at, bytes } of chunks) add(at, () => handler.onResponseData(this, bytes));
    const last = chunks.at(-1)?.at ?? head?.at ?? sent;
    const error = recorded === undefined ? unmatched : end?.error && withCode(end.error);
    // A request that the gateway aborted has no end: the gateway aborts it again, or waits.
    if (end?.error !== "stopped") add(end?.at ?? last, () => this.#end(error || undefined));
  }

  start(): void {
    if (this.#isOver) return;
    this.#handler.onRequestStart(this);
    this.#play();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    queueMicrotask(() => this.#play());
  }

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#callOff();
    queueMicrotask(() => this.#handler.onResponseError(this, reason));
  }

  #play(): void {
    for (;;) {
      const [step] = this.#steps;
      if (step === undefined || this.#isOver || this.#isPaused) return;
      const { moment, run } = step;
      if (this.#clock.now() < moment) {
        this.#callOff = this.#clock.at(moment, () => this.#play());
        return;
      }
      this.#steps.shift();
      run();
    }
  }

  #end(error: Error | undefined): void {
    this.#isOver = true;
    if (error === undefined) this.#handler.onResponseEnd();
    else this.#handler.onResponseError(this, error);
  }
}

const withCode = (code: string, message = code): Error =>
  Object.assign(new Error(message), { code });

type Event = TurnEvent<UpstreamName>;

const eventsOf = (recorded: BundleTry | undefined): Source<Event> =>
  sourceOf(
    recorded?.events.map(({ event }) =>
      event.type === "turn-fail"
        ? failure(event.fault.code, event.fault.message)
        : // Its names are those that the upstream gave.
          (event as Event),
    ) ?? [failure("upstream.said_error", "No such request was recorded.")],
  );

const failure = (code: string, message: string): Event => ({
  type: "turn-fail",
  fault: new Fault(
    Object.hasOwn(faults, code) ? (code as FaultCode) : "upstream.said_error",
    message,
  ),
});
