import type { Usage } from "../turn/event.ts";

/** What turns came to, added up. */
export type UsageSum = {
  readonly requests: number;
  readonly failures: number;
  /** Turns whose upstream gave no count; their tokens are in no sum. */
  readonly uncounted: number;
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly calls: number;
  /** Turns whose calls were cut short. */
  readonly truncated: number;
};

/** One turn, as it is added. */
export type UsageEntry = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly caller: string;
  readonly model: string;
  readonly failed: boolean;
  readonly usage: Usage | undefined;
  readonly calls: number;
  readonly truncated: boolean;
};

/** The turns of one caller with one model in one hour. */
export type UsageRow = {
  /** When the hour began, in milliseconds since the epoch. */
  readonly hour: number;
  readonly model: string;
  readonly sum: UsageSum;
};

/** What turns used, by the hour. */
export type UsageStore = {
  add(entry: UsageEntry): void;
  /** A caller's rows of the hours from `start` until before `end`, oldest first. */
  read(caller: string, start: number, end: number): Promise<readonly UsageRow[]>;
};

export const HOUR_MS = 3_600_000;

/** Under this name goes what is beyond the bound of names. */
const OTHER = "other";

const HOURS_KEPT = 24 * 35;
/** How many models a caller may have in an hour. */
const MODELS_KEPT = 100;

type Sum = { -readonly [K in keyof UsageSum]: number };
type Hour = { readonly began: number; readonly callers: Map<string, Map<string, Sum>> };

/** Kept in memory, for so many hours and so many models in each: until a restart. */
export function usageMemory(hoursKept = HOURS_KEPT, modelsKept = MODELS_KEPT): UsageStore {
  /** Oldest first. */
  const hours: Hour[] = [];

  function hourOf(at: number): Hour {
    const began = hourBegan(at);
    // Turns come nearly in the order of time, so it is the last one or close to it.
    const before = hours.findLastIndex((hour) => hour.began <= began);
    const known = hours[before];
    if (known?.began === began) return known;
    const hour: Hour = { began, callers: new Map() };
    hours.splice(before + 1, 0, hour);
    if (hours.length > hoursKept) hours.shift();
    return hour;
  }

  function sumFor({ at, caller, model }: UsageEntry): Sum {
    const { callers } = hourOf(at);
    let models = callers.get(caller);
    if (models === undefined) callers.set(caller, (models = new Map()));
    const name = models.has(model) || models.size < modelsKept ? model : OTHER;
    let sum = models.get(name);
    if (sum === undefined) models.set(name, (sum = { ...noUsage }));
    return sum;
  }

  return {
    add(entry) {
      const { usage } = entry;
      addTo(sumFor(entry), {
        requests: 1,
        failures: Number(entry.failed),
        uncounted: Number(usage === undefined),
        input: usage?.input ?? 0,
        output: usage?.output ?? 0,
        total: usage?.total ?? 0,
        cached: usage?.cached ?? 0,
        reasoning: usage?.reasoning ?? 0,
        calls: entry.calls,
        truncated: Number(entry.truncated),
      });
    },
    read: (caller, start, end) =>
      Promise.resolve(
        hours
          .filter(({ began }) => began >= start && began < end)
          .flatMap(({ began, callers }) =>
            [...(callers.get(caller) ?? [])].map(([model, sum]) => ({
              hour: began,
              model,
              sum: { ...sum },
            })),
          ),
      ),
  };
}

export const hourBegan = (at: number): number => at - (at % HOUR_MS);

const noUsage: UsageSum = {
  requests: 0,
  failures: 0,
  uncounted: 0,
  input: 0,
  output: 0,
  total: 0,
  cached: 0,
  reasoning: 0,
  calls: 0,
  truncated: 0,
};

function addTo(sum: Sum, more: UsageSum): void {
  sum.requests += more.requests;
  sum.failures += more.failures;
  sum.uncounted += more.uncounted;
  sum.input += more.input;
  sum.output += more.output;
  sum.total += more.total;
  sum.cached += more.cached;
  sum.reasoning += more.reasoning;
  sum.calls += more.calls;
  sum.truncated += more.truncated;
}

/** Several sums in one. */
export function addUp(sums: Iterable<UsageSum>): UsageSum {
  const whole: Sum = { ...noUsage };
  for (const sum of sums) addTo(whole, sum);
  return whole;
}
