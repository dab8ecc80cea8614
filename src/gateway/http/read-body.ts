/** Reads request bodies as JSON: short ones at once, long ones in steps, between which others are served. */

import type { Clock } from "../../turn/clock.ts";
import type { Fields } from "../../turn/turn.ts";
import { requireJson } from "./admission.ts";
import { onceReady } from "../run/after-recall.ts";
import type { RequestContext } from "./routes.ts";

/** Work on a request of more characters is done in steps. */
const LONG = 128 * 1024;
/** The text of one that is longer has taken long to decode. */
const VERY_LONG = 1024 * 1024;
/** Steps that have taken less time together, in milliseconds, are done one after the other. */
const SHORT_MS = 5;

export const isLong = (text: string): boolean => text.length > LONG;

/** Called between two steps: where they have taken long, it waits until others were served. */
export type Rest = () => Promise<void> | undefined;

/** Has the steps of work on all long requests done one at a time, and whatever else there is to do in between. */
export class StepQueue {
  readonly #clock: Pick<Clock, "now" | "at">;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Pick<Clock, "now" | "at">) {
    this.#clock = clock;
  }

  /** For the steps of one request, which begin now or began so many milliseconds ago. */
  resting(agoMs = 0): Rest {
    let since = this.#clock.now() - agoMs;
    return () => {
      if (this.#clock.now() - since < SHORT_MS) return undefined;
      return this.#next().then(() => void (since = this.#clock.now()));
    };
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#goLater();
    });
  }

  #goLater(): void {
    this.#clock.at(this.#clock.now(), () => {
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#goLater();
    });
  }
}

/** Reads the body of a request as JSON, within the limits of what it may be made of, and goes on with it. */
export function withBody(
  context: RequestContext,
  then: (body: Fields) => void | Promise<void>,
): void | Promise<void> {
  const { state, exchange } = context;
  if (exchange.session === undefined) requireJson(exchange.headers);
  const { counts } = state.config.server;
  if (!isLong(exchange.body)) return then(state.readBody(exchange.body, counts));
  return onceReady(context, readInSteps(context), then);
}

/** The same for routes that may have no body; only a POST has one. */
export const withAnyBody = (
  context: RequestContext,
  then: (body: Fields) => void | Promise<void>,
): void | Promise<void> =>
  context.exchange.method !== "POST" || context.exchange.body === ""
    ? then({})
    : withBody(context, then);

async function readInSteps({ state, exchange, requestId }: RequestContext): Promise<Fields> {
  const { readBody, steps, clock, watch, config } = state;
  const rest = steps.resting(exchange.body.length > VERY_LONG ? SHORT_MS : 0);
  const reading = readBody.steps(exchange.body, config.server.counts);
  for (;;) {
    await rest();
    const started = clock.now();
    const step = reading.next();
    watch("request", requestId, clock.now() - started);
    if (step.done !== true) continue;
    await rest();
    return step.value;
  }
}
