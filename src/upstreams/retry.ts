/** Retries a source that fails before its first event. */

import type { Flow, Sink, Source } from "../stream/flow.ts";
import type { Clock } from "../turn/clock.ts";
import type { Fault } from "../turn/fault.ts";
import type { AttemptWatch } from "./upstream.ts";

/** Why an attempt failed before its first event. */
export type Failure = {
  readonly fault: Fault;
  /** Whether the same request may succeed in a moment. */
  readonly again: boolean;
  /** Milliseconds to wait before it, where the upstream has said so. */
  readonly after?: number | undefined;
};

/**
 * One attempt at a request. It emits events and ends the sink, or calls `fail`
 * once before its first event; neither before it has returned. A failure after
 * the first event is the event `turn-fail`.
 */
export type Attempt<T> = (sink: Sink<T>, fail: (failure: Failure) => void) => Flow;

export type RetryOptions<T> = {
  /** How often to try again; 0: one attempt only. */
  readonly retries: number;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** The only event of a source whose attempts all failed. */
  readonly failed: (fault: Fault) => T;
  readonly watch?: Pick<AttemptWatch, "retrying" | "sentAgain"> | undefined;
};

const FIRST_WAIT = 500;
const MAX_WAIT = 8_000;
/** An upstream that asks for a longer wait is not waited for: the client gets its `retry-after`. */
const MAX_ASKED_WAIT = 20_000;

/**
 * A source that tries again until there is a first event. The longest wait
 * doubles, and each wait is drawn between 0 and it (full jitter), so that turns
 * which failed together do not come back together.
 */
export function retrying<T>(attempt: Attempt<T>, options: RetryOptions<T>): Source<T> {
  const { clock, retries } = options;
  return (sink) => {
    let tried = 0;
    let paused = false;
    let cancelTimer: (() => void) | undefined;
    let flow: Flow;

    const begin = (): void => {
      cancelTimer = undefined;
      if (tried > 0) options.watch?.sentAgain();
      flow = attempt(sink, failed);
      if (paused) flow.pause();
    };
    const failed = (failure: Failure): void => {
      const wait = tried < retries ? waitFor(failure, tried, options.random) : undefined;
      tried++;
      if (wait !== undefined) {
        options.watch?.retrying(failure.fault, wait);
        cancelTimer = clock.at(clock.now() + wait, begin);
        return;
      }
      sink.each(options.failed(failure.fault));
      sink.flush();
      sink.end();
    };

    begin();
    return {
      pause() {
        paused = true;
        flow.pause();
      },
      resume() {
        paused = false;
        flow.resume();
      },
      stop() {
        cancelTimer?.();
        flow.stop();
      },
    };
  };
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

/** The first value of a header; empty if there is none. */
export const headerValue = (header: string | string[] | undefined): string =>
  (typeof header === "string" ? header : header?.[0]) ?? "";
