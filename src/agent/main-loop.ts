import type { AgentEvent, RunResult } from "./events.ts";
import { innerLoop } from "./inner-loop.ts";
import type { RunState } from "./run-state.ts";
import { threadIn, type VisibilitySet } from "./session.ts";

/**
 * Runs the inner loop until it has a result. Where it asks for sections that
 * only a new conversation can show, they are opened and it begins anew: with the
 * same session, budget and deadline, and with all that was said.
 */
export async function* mainLoop(state: RunState): AsyncGenerator<AgentEvent, RunResult> {
  startThread(state);
  for (;;) {
    const outcome = yield* innerLoop(state);
    if (!("type" in outcome)) return outcome;
    state.session.dispatch(...outcome.overrides);
    state.restarts++;
    yield outcome.required;
    startThread(state, true);
  }
}

/** A conversation goes on where it stopped, unless it is told in another way or to another model. */
function startThread(state: RunState, isAnew = false): void {
  const { session, adapter, strategy, clock } = state;
  const at = session.events.findLastIndex((event) => event.type === "thread-started");
  const thread = threadIn(session.events);
  // The prompt shows the sections that were open when it was written. Results of calls show those that the model
  // opens later; only a new prompt can show what the caller closed or opened since.
  const isStale = session.events
    .slice(at + 1)
    .some((event) => event.type === "visibility-set" && !isShownByCalls(event));
  const isSame = thread?.adapter === adapter.name && thread.strategy === strategy && !isStale;
  if (isSame && !isAnew) return;
  const isSpoken = session.items.some((item) => item.type === "message" && item.role === "user");
  session.dispatch({
    type: "thread-started",
    adapter: adapter.name,
    strategy,
    role: thread?.role ?? (isSpoken ? "system" : "user"),
    timestamp: clock.date(),
  });
}

const isShownByCalls = ({ visibility, by }: VisibilitySet): boolean =>
  visibility === "full" && (by === "model" || by === "call");
