import { Fault } from "../turn/fault.ts";
import type { Exchange } from "./exchange.ts";
import type { Recalled } from "./recall.ts";
import type { RunningTurn } from "./running-turns.ts";
import type { GatewayState } from "./state.ts";

/** A request that waits for the store. */
type Waiting = {
  readonly state: Pick<GatewayState, "running">;
  readonly exchange: Pick<Exchange, "reply">;
  readonly refuse: (fault: Fault) => void;
};

/**
 * Goes on when a request is whole, unless its client has left by then. It counts
 * among the turns under way, for a stop waits for those.
 */
export async function afterRecall(
  { state: { running }, exchange: { reply }, refuse }: Waiting,
  request: Promise<Recalled>,
  then: (request: Recalled) => void | Promise<void>,
): Promise<void> {
  const waiting: RunningTurn = {
    place: -1,
    halt() {
      if (running.remove(waiting)) refuse(stopping());
    },
  };
  running.add(waiting);
  reply.onLeave(() => running.remove(waiting));
  let recalled: Recalled;
  try {
    recalled = await request;
  } catch (error) {
    if (running.remove(waiting)) throw error;
    return; // Nobody is there to be told.
  }
  if (running.remove(waiting)) await then(recalled);
  else await recalled.conversation?.release();
}

const stopping = (): Fault =>
  new Fault("gateway.stopping", "The gateway is shutting down; send the request again.");
