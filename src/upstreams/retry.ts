import type { Flow, Sink, Source } from "../stream/flow.ts";
import type { Clock } from "../turn/clock.ts";
import type { Fault } from "../turn/fault.ts";

/** A try that came to nothing before its first event. */
export type Failure = {
  readonly fault: Fault;
  /** Whether the same request may fare better in a moment. */
  readonly again: boolean;
  /** Milliseconds the upstream asked to be left alone. */
  readonly after?: number | undefined;
};

/**
 * One try at a request. It speaks to the sink and ends it, or calls `fail` once
 * and says nothing; neither before it has returned.
 */
export type Attempt<T> = (sink: Sink<T>, fail: (failure: Failure) => void) => Flow;

export type RetryOptions<T> = {
  /** How often to try again; 0 for once and no more. */
  readonly retries: number;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** The last event of a source that never got to speak. */
  readonly failed: (fault: Fault) => T;
};

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8_000;
/** Longer than this nobody is kept waiting: the client is told how long instead. */
const LONGEST_ASKED = 20_000;

/**
 * A source that tries again while nothing has been said. Waits double, and each
 * is drawn at random from nothing to its length, so that many turns that failed
 * together do not come back together.
 */
export function retrying<T>(attempt: Attempt<T>, options: RetryOptions<T>): Source<T> {
  const { clock, retries } = options;
  return (sink) => {
    let tried = 0;
    let paused = false;
    let calledOff: (() => void) | undefined;
    let flow: Flow;

    const begin = (): void => {
      calledOff = undefined;
      flow = attempt(sink, failed);
      if (paused) flow.pause();
    };
    const failed = (failure: Failure): void => {
      const wait = tried < retries ? waitFor(failure, tried, options.random) : undefined;
      tried++;
      if (wait !== undefined) {
        calledOff = clock.at(clock.now() + wait, begin);
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
        calledOff?.();
        flow.stop();
      },
    };
  };
}

function waitFor(failure: Failure, tried: number, random: () => number): number | undefined {
  if (!failure.again) return undefined;
  if (failure.after !== undefined)
    return failure.after <= LONGEST_ASKED ? failure.after : undefined;
  return Math.round(random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** tried));
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** How long a refusal asks to wait, in milliseconds. */
export function askedWait(headers: Headers, now: number): number | undefined {
  const exact = Number.parseFloat(headerValue(headers["retry-after-ms"]));
  if (exact >= 0) return Math.min(exact, LONGEST_TOLD);
  const said = headerValue(headers["retry-after"]).trim();
  const [, seconds] = /^(\d+(?:\.\d+)?)s?$/.exec(said) ?? [];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, LONGEST_TOLD);
  // Some of what is no date is read as one all the same: one that is has letters.
  const moment = /[a-z]/i.test(said) ? Date.parse(said) : Number.NaN;
  return Number.isNaN(moment) ? undefined : Math.min(Math.max(0, moment - now), LONGEST_TOLD);
}

/** A year; more is nonsense, and beyond some length no number that a header can carry. */
const LONGEST_TOLD = 365 * 24 * 3_600_000;

/** The first value of a header; empty if there is none. */
export const headerValue = (header: string | string[] | undefined): string =>
  (typeof header === "string" ? header : header?.[0]) ?? "";
