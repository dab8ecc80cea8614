import type { Dialect } from "../dialects/dialect.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { kindOf } from "../tools/kinds/kinds.ts";
import { summary, type Plan } from "../tools/plan.ts";
import type { Outcome } from "../telemetry/happening.ts";
import { Fault } from "../turn/fault.ts";
import type { Turn } from "../turn/turn.ts";
import type { Caller } from "./admission.ts";
import type { Reply } from "./exchange.ts";
import type { House } from "./house.ts";
import { planned } from "./plan-report.ts";
import { ready, type Readied } from "./ready.ts";
import type { Running } from "./roster.ts";
import { run, type Run } from "./run.ts";
import { placeOf, type Link } from "./select.ts";
import { outcomeOf } from "./tally.ts";
import { toFault } from "./trouble.ts";

/** A request that has been read and may become a turn. */
export type Job = {
  readonly requestId: string;
  readonly caller: Caller;
  readonly dialect: Dialect;
  readonly turn: Turn;
  readonly chain: readonly [Link, ...Link[]];
  readonly strict: boolean;
  readonly reply: Reply;
  /** What every reply to it says in its head. */
  headers(readied: Readied | undefined): Record<string, string>;
  /** Answers with an error; only while nothing has been said. */
  refuse(fault: Fault, headers: Readonly<Record<string, string>>): void;
};

/**
 * The walk of a turn: ready, open, stages, reply. Until the first event the
 * next upstream of the chain may still take over; afterwards failure is an
 * event like any other.
 */
export function walk(house: House, job: Job): void {
  const started = house.clock.now();
  let current: Readied | undefined;
  let under: Run | undefined;
  let halted = false;

  const running: Running = {
    place: -1,
    halt() {
      halted = true;
      under?.interrupt(
        new Fault("gateway.stopping", "The gateway is shutting down; send the request again."),
      );
    },
  };
  const finish = (outcome: Outcome, status: number, fault = under?.seen.fault): void => {
    if (!house.running.remove(running)) return;
    house.metrics.running(-1);
    const seen = under?.seen;
    if (current !== undefined && under !== undefined)
      house.plans.remember(under.id(), {
        caller: job.caller,
        planned: planned(current, under.mended),
      });
    house.report({
      type: "turn",
      requestId: job.requestId,
      door: job.turn.dialect,
      model: job.turn.model,
      upstream: placeOf(current?.link ?? job.chain[0]),
      stream: job.turn.stream,
      straight: current?.straight ?? false,
      outcome,
      status,
      fault: fault?.code,
      calls: seen?.calls ?? 0,
      usage: seen?.usage,
      plan: current === undefined ? "" : summary(current.plan),
      decisions: current?.decisions.length ?? 0,
      ms: house.clock.now() - started,
      firstEventMs: seen?.firstEvent === undefined ? undefined : seen.firstEvent - started,
    });
  };
  const fail = (fault: Fault): void => {
    job.refuse(fault, job.headers(current));
    finish("failed", fault.status, fault);
  };
  /** Something of ours threw; if it throws again while that is told, the reply just ends. */
  const crash = (fault: Fault): void => {
    try {
      under?.interrupt(fault);
    } catch {
      job.reply.end();
      finish("failed", fault.status, fault);
    }
  };
  const attempt = (at: number, link: Link): void => {
    const next = job.chain[at + 1];
    const refused = (fault: Fault, begun: boolean): void => {
      if (begun || halted || next === undefined || !fault.mayFallBack) return fail(fault);
      const [from, to] = [placeOf(link), placeOf(next)];
      house.report({ type: "fallback", requestId: job.requestId, from, to, fault: fault.code });
      attempt(at + 1, next);
    };
    try {
      const readied = ready(job.turn, link, job.strict);
      current = readied;
      countTools(house.metrics, readied.plan);
      under = run(house, job, readied, next === undefined, {
        refused,
        told: (status) => finish(under === undefined ? "completed" : outcomeOf(under.seen), status),
        crashed: (error) => crash(toFault(error, house.report, job.requestId)),
      });
    } catch (error) {
      refused(toFault(error, house.report, job.requestId), false);
    }
  };

  house.running.add(running);
  house.metrics.running(1);
  job.reply.onDrain(() => under?.resume());
  job.reply.onLeave(() => {
    under?.stop();
    finish("left", 499);
  });
  attempt(0, job.chain[0]);
}

/** Kinds we do not know are a client's words, and metrics have no room for all of them. */
function countTools(metrics: Metrics, { verdicts }: Plan): void {
  for (const { verdict, kind } of verdicts) metrics.tool(verdict, kindOf(kind)?.kind ?? "other");
}
