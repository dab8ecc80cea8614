/** Upstreams that say what a bundle has of them. */

import { sourceOf, type Source } from "../../../stream/flow.ts";
import type { Clock } from "../../../turn/clock.ts";
import type { TurnEvent } from "../../../turn/event.ts";
import { Fault, type FaultCode } from "../../../turn/fault.ts";
import { faults } from "../../../turn/fault-table.ts";
import type { UpstreamName } from "../../../turn/names.ts";
import type { Profile } from "../../../turn/profile.ts";
import type {
  Connect,
  HttpRequest,
  ResponseController,
  ResponseHandler,
} from "../../../upstreams/http/transport.ts";
import type { Upstream } from "../../../upstreams/upstream.ts";
import type { Bundle, BundleTry } from "../bundle.ts";

/** A request that left the gateway, and the one that was recorded in its place. */
export type SentRequest = {
  readonly upstream: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
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

  /** The address that stands for an upstream. */
  address(upstream: string): string {
    return `http://u${this.#names.indexOf(upstream)}.recorded.invalid`;
  }

  readonly connect: Connect = ({ origin }) => ({
    send: (request, handler) => {
      const upstream = this.#names.find((name) => this.address(name) === origin) ?? origin;
      const recorded = this.#left.get(upstream)?.shift();
      const body = new TextDecoder().decode(request.body);
      this.sent.push({ upstream, path: request.path, headers: pairs(request), body, recorded });
      play(recorded, handler, this.#clock);
    },
    encode: (text) => new TextEncoder().encode(text),
    newDecoder: () => {
      const own = new TextDecoder("utf-8", { ignoreBOM: true });
      return { write: (chunk) => own.decode(chunk, { stream: true }), end: () => own.decode() };
    },
    close: async () => {},
  });

  /** One that speaks no HTTP. */
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

function pairs({ headers }: HttpRequest): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < headers.length; at += 2)
    fields[headers[at] ?? ""] = headers[at + 1] ?? "";
  return fields;
}

/** Gives a handler the recorded answer, each piece as long after the request as it came. */
function play(recorded: BundleTry | undefined, handler: ResponseHandler, clock: Clock): void {
  let isOver = false;
  let isPaused = false;
  let callOff = (): void => {};
  const started = clock.now();
  const controller: ResponseController = {
    pause: () => void (isPaused = true),
    resume() {
      if (!isPaused) return;
      isPaused = false;
      queueMicrotask(go);
    },
    abort(reason) {
      if (isOver) return;
      isOver = true;
      callOff();
      queueMicrotask(() => handler.onResponseError(controller, reason));
    },
  };
  const end = (error: Error | undefined): void => {
    isOver = true;
    if (error === undefined) handler.onResponseEnd();
    else handler.onResponseError(controller, error);
  };
  const steps = recorded === undefined ? [] : stepsOf(recorded, handler, controller, end);
  const go = (): void => {
    for (;;) {
      const [step] = steps;
      if (step === undefined || isOver || isPaused) return;
      const moment = started + step.after;
      if (clock.now() < moment) return void (callOff = clock.at(moment, go));
      steps.shift();
      step.run();
    }
  };
  queueMicrotask(() => {
    if (isOver) return;
    handler.onRequestStart(controller);
    if (recorded !== undefined) go();
    else end(withCode("UNMATCHED", "No such request was recorded."));
  });
}

type Step = { readonly after: number; readonly run: () => void };

function stepsOf(
  { at: asked, head, chunks, end }: BundleTry,
  handler: ResponseHandler,
  controller: ResponseController,
  over: (error: Error | undefined) => void,
): Step[] {
  const steps: Step[] = [];
  const add = (at: number, run: () => void): void => void steps.push({ after: at - asked, run });
  if (head !== undefined)
    add(head.at, () => handler.onResponseStart(controller, head.status, { ...head.headers }));
  for (const { at, bytes } of chunks) add(at, () => handler.onResponseData(controller, bytes));
  // Where the gateway itself had hung up, it does so again, or waits as it would have.
  if (end?.error === "stopped") return steps;
  const error = end?.error === undefined ? undefined : withCode(end.error);
  add(end?.at ?? chunks.at(-1)?.at ?? head?.at ?? asked, () => over(error));
  return steps;
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
