import type { Dialect } from "../dialects/dialect.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { kindOf } from "../tools/kinds/kinds.ts";
import { summary, type Plan } from "../tools/plan/plan.ts";
import { noCalls, type Outcome, type TurnDone } from "../telemetry/happening.ts";
import type { TurnSpan } from "../telemetry/spans.ts";
import { Fault } from "../turn/fault.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Turn } from "../turn/turn.ts";

import type { Reply } from "./exchange.ts";
import type { GatewayState } from "./state.ts";
import { planned } from "./plan-report.ts";
import { prepareRound, type Round } from "./ready.ts";
import type { RunningTurn } from "./running-turns.ts";
import { run, type Run } from "./run.ts";
import { linkName, providerOf, type Link } from "./select.ts";
import { outcomeOf } from "./tally.ts";
import { toFault } from "./to-fault.ts";
import { usageEntry } from "./usage-report.ts";

/** A request that has been read and may become a turn. */
export type Job = {
  readonly requestId: string;
  readonly tenant: Tenant;
  readonly dialect: Dialect;
  readonly turn: Turn;
  readonly chain: readonly [Link, ...Link[]];
  readonly strict: boolean;
  readonly rules: CallRules;
  readonly sealOwner: (seal: string) => string | undefined;
  readonly reply: Reply;
  /** Where somebody follows traces. */
  readonly span?: TurnSpan | undefined;
  /** What every reply to it says in its head. */
  headers(round: Round | undefined): Record<string, string>;
  /** Answers with an error; only while nothing has been said. */
  refuse(fault: Fault, headers: Readonly<Record<string, string>>): void;
};

/**
 * The walk of a turn: ready, open, stages, reply. Until the first event the
 * next upstream of the chain may still take over; afterwards failure is an
 * event like any other.
 */
export const walk = (state: GatewayState, job: Job): void => new Walk(state, job).begin();

class Walk implements RunningTurn {
  place = -1;
  readonly #state: GatewayState;
  readonly #job: Job;
  readonly #started: number;
  /** The turn as it was made ready last, and its answer. */
  #round: Round | undefined;
  #run: Run | undefined;
  #halted = false;

  constructor(state: GatewayState, job: Job) {
    this.#state = state;
    this.#job = job;
    this.#started = state.clock.now();
  }

  begin(): void {
    const { running, metrics, report } = this.#state;
    const { requestId, turn, reply, chain } = this.#job;
    running.add(this);
    metrics.running(1);
    report({
      type: "begun",
      requestId,
      door: turn.dialect,
      model: turn.model,
      stream: turn.stream,
    });
    reply.onDrain(() => this.#run?.resume());
    reply.onLeave(() => {
      this.#run?.stop();
      this.#finish("left", 499);
    });
    this.#attempt(0, chain[0]);
  }

  halt(): void {
    this.#halted = true;
    this.#breakOff(
      new Fault("gateway.stopping", "The gateway is shutting down; send the request again."),
    );
  }

  #attempt(at: number, link: Link): void {
    const { turn, chain } = this.#job;
    const isLast = chain[at + 1] === undefined;
    const refused = (fault: Fault, begun: boolean): void => this.#refused(at, fault, begun);
    try {
      const round = prepareRound(turn, link, this.#job, chain[0]);
      this.#round = round;
      countTools(this.#state.metrics, round.plan);
      this.#run = run(this.#state, this.#job, round, isLast, {
        refused,
        told: (status) => this.#told(status),
        crashed: (error) => this.#breakOff(this.#faultOf(error)),
      });
    } catch (error) {
      refused(this.#faultOf(error), false);
    }
  }

  /** It failed and the client has been told nothing: the next link may do better. */
  #refused(at: number, fault: Fault, begun: boolean): void {
    const { requestId, chain } = this.#job;
    const [link, next] = [chain[at], chain[at + 1]];
    const isOver = begun || this.#halted || !fault.mayFallBack;
    if (isOver || link === undefined || next === undefined) return this.#fail(fault);
    const [from, to] = [linkName(link), linkName(next)];
    this.#state.report({ type: "fallback", requestId, from, to, fault: fault.code });
    this.#attempt(at + 1, next);
  }

  #fail(fault: Fault): void {
    this.#job.refuse(fault, this.#job.headers(this.#round));
    this.#finish("failed", fault.status, fault);
  }

  #told(status: number): void {
    this.#finish(this.#run === undefined ? "completed" : outcomeOf(this.#run.seen), status);
  }

  /** Ends it with a failure of ours; if something throws while that is told, a reply under way just ends. */
  #breakOff(fault: Fault): void {
    try {
      this.#run?.interrupt(fault);
    } catch {
      if (this.#run?.shown() !== true) return this.#fail(fault);
      this.#job.reply.end();
      this.#finish("failed", fault.status, fault);
    }
  }

  #faultOf(error: unknown): Fault {
    return toFault(error, this.#state.report, this.#job.requestId);
  }

  #finish(outcome: Outcome, status: number, fault = this.#run?.seen.fault): void {
    const { running, metrics, plans, seals } = this.#state;
    if (!running.remove(this)) return;
    metrics.running(-1);
    if (this.#round !== undefined && this.#run !== undefined) {
      const { tenant, rules } = this.#job;
      plans.remember(
        tenant,
        this.#run.id(),
        planned(this.#round, { rules, mended: this.#run.mended() }),
      );
      // Where the plan marks reasoning, it says itself whose it is.
      const { link, plan } = this.#round;
      if (plan.seal === undefined)
        for (const seal of this.#run.seen.seals) seals.remember(tenant, seal, link.upstream.name);
    }
    this.#tell(this.#done(outcome, status, fault));
  }

  /** All that is ever told of a turn is made of this one account of it. */
  #tell(done: TurnDone): void {
    const { report, usage, config } = this.#state;
    report(done);
    usage.add(usageEntry(done, this.#job.tenant, config));
    this.#job.span?.end(done);
  }

  #done(outcome: Outcome, status: number, fault: Fault | undefined): TurnDone {
    const { requestId, turn, chain } = this.#job;
    const round = this.#round;
    const link = round?.link ?? chain[0];
    const seen = this.#run?.seen;
    const at = this.#state.clock.now();
    // Of a whole answer that failed or that nobody waited for, nothing was given.
    const isGiven = turn.stream || outcome === "completed" || outcome === "incomplete";
    const calls = seen?.calls ?? noCalls;
    return {
      type: "turn",
      at,
      requestId,
      door: turn.dialect,
      model: turn.model,
      upstream: linkName(link),
      provider: providerOf(link),
      stream: turn.stream,
      straight: round?.straight ?? false,
      outcome,
      status,
      fault: fault?.code,
      choices: turn.params.n ?? 1,
      calls: isGiven ? calls : { ...calls, given: 0 },
      callsByChoice: isGiven ? (seen?.callsByChoice ?? []) : [],
      rules: this.#job.rules,
      stops: seen?.stops ?? [],
      usage: seen?.usage,
      answerId: seen?.start === undefined ? undefined : this.#run?.id(),
      answerModel: seen?.start?.model,
      plan: round === undefined ? "" : summary(round.plan),
      decisions: (round?.decisions.length ?? 0) + (this.#run?.mended().length ?? 0),
      ms: at - this.#started,
      firstEventMs: seen?.firstEvent === undefined ? undefined : seen.firstEvent - this.#started,
    };
  }
}

/** Kinds we do not know are a client's words, and metrics have no room for all of them. */
function countTools(metrics: Metrics, { verdicts }: Plan): void {
  for (const { verdict, kind } of verdicts) metrics.tool(verdict, kindOf(kind)?.kind ?? "other");
}
