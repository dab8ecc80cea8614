import type { AgentEvent, RunResult } from "./events.ts";
import { innerLoop } from "./inner-loop.ts";
import type { RunState } from "./run-state.ts";
import { threadIn, type SetVisibilityOverride } from "./session.ts";

/**
 * Runs the inner loop until it has a result. Where it asks for sections that
 * only a new conversation can show, they are opened and it begins anew: with the
 * same session, budget and deadline, and with all that was said.
 */
export async function* mainLoop(state: RunState): AsyncGenerator<AgentEvent, RunResult> {
  const { session, clock } = state;
  startThread(state);
  for (;;) {
    const outcome = yield* innerLoop(state);
    if (!("type" in outcome)) return outcome;
    const timestamp = clock.date();
    const overrides = Object.entries(outcome.requestedOverrides).map(
      ([path, visibility]): SetVisibilityOverride => ({
        type: "visibility-set",
        path,
        visibility,
        by: "model",
        timestamp,
      }),
    );
    session.dispatch(...overrides);
    state.restarts++;
    yield outcome;
    startThread(state, true);
  }
}

/** A conversation goes on where it stopped, unless it is told in another way or to another model. */
function startThread(state: RunState, isAnew = false): void {
  const { session, adapter, strategy, clock } = state;
  const at = session.events.findLastIndex((event) => event.type === "thread-started");
  const thread = threadIn(session.events);
  // The prompt shows what is open; what the caller closed since would still stand in it.
  const isClosed = session.events
    .slice(at + 1)
    .some((event) => event.type === "visibility-set" && event.visibility === "summary");
  const isSame = thread?.adapter === adapter.name && thread.strategy === strategy && !isClosed;
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
