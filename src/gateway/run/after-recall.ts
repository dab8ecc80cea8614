import { Fault } from "../../turn/fault.ts";
import type { Exchange } from "../http/exchange.ts";
import type { RunningTurn } from "./running-turns.ts";
import type { GatewayState } from "../state.ts";

/** A request that waits for the store, or for its turn to be read. */
type Waiting = {
  readonly state: Pick<GatewayState, "running">;
  readonly exchange: Pick<Exchange, "reply">;
  readonly refuse: (fault: Fault) => void;
};

/**
 * Goes on when a request is whole, unless its client has left by then. It counts
 * among the turns under way, for a stop waits for those.
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
    return; // Nobody is there to be told.
  }
  if (running.remove(waiting)) await then(value);
  else await drop(value);
}

const stopping = (): Fault =>
  new Fault("gateway.stopping", "The gateway is shutting down; send the request again.");
