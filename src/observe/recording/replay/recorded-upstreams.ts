/** Upstreams that say what a bundle has of them. */

import { sourceOf } from "../../../stream/flow.ts";
import type { Source } from "../../../stream/flow.ts";
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
import type { BundleEvent } from "../bundle.ts";
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

export type RecordedUpstreams = {
  readonly connect: Connect;
  /** The address that stands for an upstream. */
  address(upstream: string): string;
  /** One that speaks no HTTP. */
  withoutHttp(name: string, profile: Profile): Upstream;
  readonly sent: readonly SentRequest[];
};

export function recordedUpstreams(
  { tries }: Pick<Bundle, "tries">,
  clock: Clock,
): RecordedUpstreams {
  const names = [...new Set(tries.map(({ upstream }) => upstream))];
  const left = new Map(names.map((name) => [name, tries.filter((one) => one.upstream === name)]));
  const sent: SentRequest[] = [];
  const take = (upstream: string): BundleTry | undefined => left.get(upstream)?.shift();
  const address = (upstream: string): string =>
    `http://u${names.indexOf(upstream)}.recorded.invalid`;
  const decoder = new TextDecoder();
  const connect: Connect = ({ origin }) => ({
    send(request, handler) {
      const upstream = names.find((name) => address(name) === origin) ?? origin;
      const recorded = take(upstream);
      const body = decoder.decode(request.body);
      sent.push({ upstream, path: request.path, headers: pairs(request), body, recorded });
      play(recorded, handler, clock);
    },
    encode: (text) => new TextEncoder().encode(text),
    newDecoder: () => {
      const own = new TextDecoder("utf-8", { ignoreBOM: true });
      return { write: (chunk) => own.decode(chunk, { stream: true }), end: () => own.decode() };
    },
    close: async () => {},
  });
  return {
    connect,
    address,
    withoutHttp: (name, profile) => ({
      name,
      profile,
      prepare: () => ({
        decisions: [],
        open: () => eventsOf(take(name)),
      }),
      close: async () => {},
    }),
    sent,
  };
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
  let place = 0;
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
  const steps = recorded === undefined ? [] : stepsOf(recorded, handler, controller);
  const go = (): void => {
    for (;;) {
      const step = steps[place];
      if (step === undefined || isOver || isPaused) return;
      const moment = started + step.after;
      if (clock.now() < moment) return void (callOff = clock.at(moment, go));
      place++;
      if (step.isLast) isOver = true;
      step.play();
    }
  };
  queueMicrotask(() => {
    if (isOver) return;
    handler.onRequestStart(controller);
    if (recorded !== undefined) return go();
    isOver = true;
    const error = Object.assign(new Error("No such request was recorded."), { code: "UNMATCHED" });
    handler.onResponseError(controller, error);
  });
}

type Step = { readonly after: number; readonly isLast: boolean; readonly play: () => void };

function stepsOf(
  { at: asked, head, chunks, end }: BundleTry,
  handler: ResponseHandler,
  controller: ResponseController,
): Step[] {
  const steps: Step[] = [];
  const add = (at: number, isLast: boolean, run: () => void): void =>
    void steps.push({ after: at - asked, isLast, play: run });
  if (head !== undefined)
    add(head.at, false, () =>
      handler.onResponseStart(controller, head.status, { ...head.headers }),
    );
  for (const { at, bytes } of chunks)
    add(at, false, () => handler.onResponseData(controller, bytes));
  const last = chunks.at(-1)?.at ?? head?.at ?? asked;
  // Where the gateway itself had hung up, it does so again, or waits as it would have.
  if (end?.error === "stopped") return steps;
  const error = end?.error;
  add(end?.at ?? last, true, () => {
    if (error === undefined) handler.onResponseEnd();
    else handler.onResponseError(controller, Object.assign(new Error(error), { code: error }));
  });
  return steps;
}

type Event = TurnEvent<UpstreamName>;

const eventsOf = (recorded: BundleTry | undefined): Source<Event> =>
  sourceOf(
    recorded === undefined
      ? [failure("upstream.said_error", "No such request was recorded.")]
      : recorded.events.map(({ event }) => revived(event)),
  );

/** Faults are written by their code and words. */
const revived = (event: BundleEvent): Event =>
  event.type === "turn-fail"
    ? failure(event.fault.code, event.fault.message)
    : // Its names are those that the upstream gave.
      (event as Event);

const failure = (code: string, message: string): Event => ({
  type: "turn-fail",
  fault: new Fault(
    Object.hasOwn(faults, code) ? (code as FaultCode) : "upstream.said_error",
    message,
  ),
});
