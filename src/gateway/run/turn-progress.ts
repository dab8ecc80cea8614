import type { Bus } from "../../observe/bus.ts";
import type { AttemptReport, TurnStep } from "../../observe/happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { reasonOf } from "../../turn/failure-reason.ts";
import type { Fault } from "../../turn/fault.ts";
import type { AttemptWatch } from "../../upstreams/upstream.ts";
import { CallList } from "./call-list.ts";
import type { Writable } from "../../turn/writable.ts";

type Attempt = Writable<AttemptReport>;

/** The first of a turn are kept; a turn of many rounds tells how many more there were by its `rounds`. */
const MOST_ATTEMPTS = 32;

/**
 * How far a turn has come, filled in place while it runs: one object for each
 * turn, a clock read for each step and none for a delta. Steps become events
 * only where somebody follows them.
 */
export class TurnProgress implements AttemptWatch {
  readonly #requestId: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #bus: Bus | undefined;
  readonly startedMs: number;
  step: TurnStep = "read";
  /** In milliseconds from the beginning; below zero: not reached. */
  plannedMs = -1;
  askedMs = -1;
  headersMs = -1;
  readonly attempts: Attempt[] = [];
  #roundMs = 0;
  readonly calls: CallList;

  constructor(requestId: string, clock: Pick<Clock, "now">, bus?: Bus) {
    this.#requestId = requestId;
    this.#clock = clock;
    this.#bus = bus;
    this.startedMs = clock.now();
    this.calls = new CallList(this);
  }

  /** Milliseconds since the turn began. */
  now(): number {
    return this.#clock.now() - this.startedMs;
  }

  planned(): void {
    const ms = this.now();
    if (this.plannedMs < 0) this.plannedMs = ms;
    this.reach("planned", ms);
  }

  /** A round begins: a request is sent to an upstream, `upstream/model`. */
  asked(upstream: string): void {
    this.#roundMs = this.now();
    this.#sent(upstream, this.#roundMs);
  }

  /** How long the round under way has taken. */
  roundMs(): number {
    return this.now() - this.#roundMs;
  }

  #sent(upstream: string, ms: number): void {
    if (this.askedMs < 0) this.askedMs = ms;
    if (this.attempts.length < MOST_ATTEMPTS) this.attempts.push({ upstream, atMs: ms, ms: 0 });
    this.reach("asked", ms);
  }

  answered(status: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined) attempt.status = status;
    const ms = this.now();
    if (this.headersMs < 0) this.headersMs = ms;
    this.reach("headers", ms);
  }

  retrying(fault: Fault, waitMs: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined) attempt.waitMs = waitMs;
    this.attemptEnded(fault);
  }

  sentAgain(): void {
    const { upstream = "" } = this.attempts.at(-1) ?? {};
    this.#sent(upstream, this.now());
  }

  /** The last attempt is over. */
  attemptEnded(fault?: Fault): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    attempt.ms = this.now() - attempt.atMs;
    attempt.fault = fault?.code;
    attempt.reason = fault && reasonOf(fault);
    if (this.#bus?.followsSteps !== true) return;
    const requestId = this.#requestId;
    this.#bus.report({ type: "attempt", requestId, attempt: this.attempts.length, ...attempt });
  }

  reach(step: TurnStep, ms: number): void {
    this.step = step;
    if (this.#bus?.followsSteps === true)
      this.#bus.report({ type: "step", requestId: this.#requestId, step, ms });
  }

  /** Reports a call that is over. */
  callEnded(at: number): void {
    const call = this.calls.details[at];
    if (this.#bus?.followsSteps === true && call !== undefined)
      this.#bus.report({ type: "call", requestId: this.#requestId, ...call });
  }
}
