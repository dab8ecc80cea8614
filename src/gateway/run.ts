import type { WriteContext } from "../dialects/dialect.ts";
import type { Flow, Source } from "../stream/flow.ts";
import { pausableClock, type PausableClock } from "../stream/pausable-clock.ts";
import { pump } from "../stream/pump.ts";
import { sseComment } from "../stream/sse.ts";
import { callComment, callHeaders } from "../telemetry/figures.ts";
import type { Clock } from "../turn/clock.ts";
import { boundDecisions, MAX_DECISIONS, type Decision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { ClientName, UpstreamName } from "../turn/names.ts";
import { faultForClient } from "./client-fault.ts";
import { openDoor } from "./door.ts";
import type { GatewayState } from "./state.ts";
import type { Round } from "./ready.ts";
import { answerStages } from "./stages.ts";
import { tally, type Tally } from "./tally.ts";
import type { Job } from "./walk.ts";

/** One upstream's answer on its way to the client. */
export type Run = Flow & {
  readonly seen: Tally["seen"];
  /** What had to be done to the answer. */
  mended(): readonly Decision[];
  /** The answer's id as the client sees it. */
  id(): string;
  /** Whether the client has been told anything. */
  shown(): boolean;
  /** Stops the upstream and ends the answer with a failure, as if the upstream had said it. */
  interrupt(fault: Fault): void;
};

export type RunEnds = {
  /** It failed and the client has been told nothing. `begun`: events had come all the same. */
  readonly refused: (fault: Fault, begun: boolean) => void;
  readonly told: (status: number) => void;
  /** Something of ours threw. */
  readonly crashed: (error: unknown) => void;
};

export function run(
  state: GatewayState,
  job: Job,
  round: Round,
  retry: boolean,
  ends: RunEnds,
): Run {
  const { clock, newId } = state;
  const { rules } = job;
  const counted = tally(clock, (fault) => faultForClient(fault, round));
  const mended = mending();
  /** The time that the upstream has: while a full reply holds it up, it has none. */
  const itsTime = pausableClock(clock);
  let flow: Flow | undefined;
  const lastWords = (): string => {
    const { calls } = counted.seen;
    return calls.given > 0 || calls.truncated ? sseComment(callComment(calls, rules)) : "";
  };
  const { straight } = round;
  const { report } = mended;
  const context = { ...writeContext(state, job, straight), lastWords, report };
  const door = openDoor({
    dialect: job.dialect,
    turn: job.turn,
    context,
    reply: job.reply,
    headers: job.headers(round),
    figures: () => callHeaders(counted.seen.calls, rules),
    straight,
    full: () => flow?.pause(),
    refused: ends.refused,
    told: ends.told,
  });
  const stages = answerStages({ round, rules, clock: itsTime, newId, tally: counted, report });
  const { requestId, span, tenant } = job;
  const source = round.prepared.open({ retry, requestId, tenant, headers: span?.headers });
  const { crashed } = ends;
  const running = pump(
    guarded(timed(source, itsTime), crashed),
    stages,
    door,
    guardedClock(itsTime, crashed),
  );
  flow = running;
  return {
    ...running,
    seen: counted.seen,
    mended: mended.all,
    id() {
      const { start } = counted.seen;
      return (start?.dialect === job.turn.dialect ? start.id : undefined) ?? context.id;
    },
    shown: () => door.shown(),
    interrupt(fault) {
      const emit = (event: TurnEvent<ClientName>): void => door.each(event);
      running.stop();
      stages.each({ type: "turn-fail", fault }, emit);
      // An answer that was over already is not spoiled, and has its end to tell.
      stages.end?.(emit);
      door.flush();
      door.end();
    },
  };
}

/** Gathers what had to be done to an answer. */
function mending() {
  const told: Decision[] = [];
  let untold = 0;
  return {
    report: (decision: Decision): void => {
      if (told.length < MAX_DECISIONS) told.push(decision);
      else untold++;
    },
    all: (): readonly Decision[] => boundDecisions(told, untold),
  };
}

function writeContext(state: GatewayState, job: Job, straight: boolean): WriteContext {
  const id =
    job.turn.dialect === "chat" ? state.newId("chatcmpl").replace("_", "-") : state.newId("resp");
  const now = (): number => Math.floor(state.clock.now() / 1000);
  return { id, created: now(), now, newId: state.newId, keep: keeper(state, job, straight) };
}

/**
 * Clients that let answers be stored refer to their items instead of sending
 * them again. An upstream whose answers go through untouched keeps its own.
 */
function keeper(
  { items }: GatewayState,
  { tenant, turn }: Job,
  straight: boolean,
): WriteContext["keep"] {
  if (straight || turn.params.store === false) return undefined;
  return (id, item, length) => items.remember(tenant, id, { item, length });
}

/** Whoever holds a source up holds its time up too. */
const timed =
  <Event>(source: Source<Event>, time: PausableClock): Source<Event> =>
  (sink) => {
    const flow = source(sink);
    return {
      pause() {
        time.pause();
        flow.pause();
      },
      resume() {
        time.resume();
        flow.resume();
      },
      stop: () => flow.stop(),
    };
  };

/** A fault in a stage must end one turn, not the process whose socket happened to call it. */
function guarded(
  source: Source<TurnEvent<UpstreamName>>,
  crashed: (error: unknown) => void,
): Source<TurnEvent<UpstreamName>> {
  return (sink) => {
    let over = false;
    const trap = (error: unknown): void => {
      over = true;
      crashed(error);
    };
    return source({
      each(event) {
        if (over) return;
        try {
          sink.each(event);
        } catch (error) {
          trap(error);
        }
      },
      flush() {
        if (over) return;
        try {
          sink.flush();
        } catch (error) {
          trap(error);
        }
      },
      end() {
        if (over) return;
        try {
          sink.end();
        } catch (error) {
          trap(error);
        }
      },
    });
  };
}

/** The same for a moment that a stage waited for. */
const guardedClock = (clock: Clock, crashed: (error: unknown) => void): Clock => ({
  now: () => clock.now(),
  at: (moment, then) =>
    clock.at(moment, () => {
      try {
        then();
      } catch (error) {
        crashed(error);
      }
    }),
});
