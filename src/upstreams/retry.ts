/** Retries turns that fail before their first event. */

import type { Flow, Sink } from "../stream/flow.ts";
import type { Clock } from "../turn/clock.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import type { AttemptWatch } from "./upstream.ts";

/** The failure of an attempt before its first event. */
export type Failure = {
  readonly fault: Fault;
  /** The same request may succeed in a moment. */
  readonly again: boolean;
  /** Milliseconds to wait before the next attempt, if the upstream has named a wait. */
  readonly after?: number | undefined;
};

type RetryOptions = {
  /** Most further attempts. */
  readonly retries: number;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly watch?: Pick<AttemptWatch, "retrying" | "sentAgain"> | undefined;
};

const FIRST_WAIT = 500;
const MAX_WAIT = 8_000;
/** If an upstream asks for a longer wait, the client receives its `retry-after` instead. */
const MAX_ASKED_WAIT = 20_000;

/**
 * The attempts of one turn, one after the other until there is a first event. The longest wait
 * doubles, and each wait is drawn between 0 and it (full jitter), so that turns
 * that failed together do not return together.
 */
export abstract class Retries implements Flow {
  readonly sink: Sink<TurnEvent<UpstreamName>>;
  readonly #options: RetryOptions;
  #tried = 0;
  #isPaused = false;
  #cancelTimer: (() => void) | undefined;
  #flow: Flow | undefined;

  constructor(sink: Sink<TurnEvent<UpstreamName>>, options: RetryOptions) {
    this.sink = sink;
    this.#options = options;
  }

  /**
   * Starts an attempt. It emits events and ends the sink, or calls `failed` once before its first
   * event; neither before it has returned. A failure after the first event is the event `turn-fail`.
   */
  protected abstract attempt(): Flow;

  begin(): this {
    this.#cancelTimer = undefined;
    if (this.#tried > 0) this.#options.watch?.sentAgain();
    this.#flow = this.attempt();
    if (this.#isPaused) this.#flow.pause();
    return this;
  }

  failed(failure: Failure): void {
    const { clock, random, retries, watch } = this.#options;
    const wait = this.#tried < retries ? waitFor(failure, this.#tried, random) : undefined;
    this.#tried++;
    if (wait !== undefined) {
      watch?.retrying(failure.fault, wait);
      this.#cancelTimer = clock.at(clock.now() + wait, () => this.begin());
      return;
    }
    this.sink.each({ type: "turn-fail", fault: failure.fault });
    this.sink.flush();
    this.sink.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#flow?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#flow?.resume();
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#flow?.stop();
  }
}

function waitFor(failure: Failure, tried: number, random: () => number): number | undefined {
  if (!failure.again) return undefined;
  if (failure.after !== undefined)
    return failure.after <= MAX_ASKED_WAIT ? failure.after : undefined;
  return Math.round(random() * Math.min(MAX_WAIT, FIRST_WAIT * 2 ** tried));
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The wait that an answer's headers ask for, in milliseconds. */
export function retryAfterOf(headers: Headers, now: number): number | undefined {
  const exact = Number.parseFloat(headerValue(headers["retry-after-ms"]));
  if (exact >= 0) return Math.min(exact, MAX_READ_WAIT);
  const text = headerValue(headers["retry-after"]).trim();
  const [, seconds] = /^(\d+(?:\.\d+)?)s?$/.exec(text) ?? [];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, MAX_READ_WAIT);
  // `Date.parse` reads "12-5" as a date too; every date form of HTTP has letters.
  const moment = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(moment) ? undefined : Math.min(Math.max(0, moment - now), MAX_READ_WAIT);
}

/** A year, in milliseconds: a longer wait is an error of the upstream, and might not print as a plain number. */
const MAX_READ_WAIT = 365 * 24 * 3_600_000;

/** The first value of a header, or an empty text. */
export const headerValue = (header: string | string[] | undefined): string =>
  (typeof header === "string" ? header : header?.[0]) ?? "";
