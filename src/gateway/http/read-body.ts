/** Reads request bodies as JSON: short ones at once, long ones in steps, between which others are served. */
import type { Fields } from "../../turn/turn.ts";
import { Fault } from "../../turn/fault.ts";
import type { RunningTurn } from "../run/running-turns.ts";
import type { GatewayState } from "../state.ts";
import { isLong, SHORT_MS, VERY_LONG } from "./steps.ts";
import { requireJson } from "./admission.ts";
import type { RequestContext } from "../state.ts";
import type { Exchange } from "./exchange.ts";

/** Reads the body of a request as JSON, within the limits on its parts, and calls `then` with it. */
export function withBody(
  context: RequestContext,
  then: (body: Fields) => void | Promise<void>,
): void | Promise<void> {
  const { state, exchange } = context;
  if (exchange.session === undefined) requireJson(exchange.headers);
  const { counts } = state.config.server;
  if (!isLong(exchange.body)) return then(state.bodies.read(exchange.body, counts));
  return onceReady(context, readInSteps(context), then);
}

/** The same for a route that also takes other methods than POST, which have no body. */
export const withAnyBody = (
  context: RequestContext,
  then: (body: Fields) => void | Promise<void>,
): void | Promise<void> =>
  context.exchange.method !== "POST" || context.exchange.body === ""
    ? then({})
    : withBody(context, then);

async function readInSteps({ state, exchange, requestId }: RequestContext): Promise<Fields> {
  const { bodies, steps, clock, watch, config } = state;
  const rest = steps.resting(exchange.body.length > VERY_LONG ? SHORT_MS : 0);
  const reading = bodies.steps(exchange.body, config.server.counts);
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

/** A request that waits for the store, or for its turn to be read. */
type Waiting = {
  readonly state: Pick<GatewayState, "running">;
  readonly exchange: Pick<Exchange, "reply">;
  readonly refuse: (fault: Fault) => void;
};

/**
 * Calls `then` with the value, unless the client has left by then. Meanwhile the request counts
 * as a turn under way, so that a stop waits for it.
 */
export async function onceReady<Value>(
  { state: { running }, exchange: { reply }, refuse }: Waiting,
  request: Promise<Value>,
  then: (value: Value) => void | Promise<void>,
  drop: (value: Value) => unknown = () => {},
): Promise<void> {
  const waiting: RunningTurn = {
    place: -1,
    halt() {
      if (running.remove(waiting)) refuse(stopping());
    },
  };
  running.add(waiting);
  reply.onLeave(() => running.remove(waiting));
  let value: Value;
  try {
    value = await request;
  } catch (error) {
    if (running.remove(waiting)) throw error;
    return; // The client has left.
  }
  if (running.remove(waiting)) await then(value);
  else await drop(value);
}

const stopping = (): Fault =>
  new Fault("gateway.stopping", "The gateway is shutting down; send the request again.");
