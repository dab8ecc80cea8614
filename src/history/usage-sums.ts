import type { Tenant } from "../turn/tenant.ts";
import type { UsageEntry } from "./log.ts";

/** What turns came to, added up. */
export type UsageSum = {
  readonly requests: number;
  readonly failures: number;
  /** Turns whose upstream did not count all that was used: the rest is estimated. */
  readonly uncounted: number;
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  readonly calls: number;
  /** Turns whose calls were cut short. */
  readonly truncated: number;
  /** In billionths of the currency: whole numbers, like all other sums. */
  readonly cost: number;
};

export const COST_UNITS = 1e9;

/** The turns of one tenant with one model in one hour. */
export type UsageRow = {
  /** When the hour began, in milliseconds since the epoch. */
  readonly hour: number;
  readonly model: string;
  readonly sum: UsageSum;
};

/** What turns used, by the hour. */
export type UsageSums = {
  /** `at`: milliseconds since the epoch. */
  add(tenant: Tenant, at: number, entry: UsageEntry): void;
  /** A tenant's rows of the hours from `start` until before `end`, oldest first. */
  read(tenant: Tenant, start: number, end: number): readonly UsageRow[];
};

export const HOUR_MS = 3_600_000;

/** Under this name goes what is beyond the bound of names. */
export const OTHER = "other";

export const HOURS_KEPT = 24 * 35;
/** How many models a tenant may have in an hour. */
export const MODELS_KEPT = 100;
/** In all, at about 300 bytes each: many tenants with many models keep fewer hours. */
const ROWS_KEPT = 100_000;

type Sum = { -readonly [K in keyof UsageSum]: number };
type Hour = { readonly began: number; readonly tenants: Map<Tenant, Map<string, Sum>> };

type Bounds = { readonly hours?: number; readonly models?: number; readonly rows?: number };

/** Sums in memory, for so many hours, models in each, and rows in all: until a restart. */
export function usageSums(bounds: Bounds = {}): UsageSums {
  const { hours: hoursKept = HOURS_KEPT, models: modelsKept = MODELS_KEPT } = bounds;
  const { rows: rowsKept = ROWS_KEPT } = bounds;
  /** Oldest first. */
  const hours: Hour[] = [];

  function hourOf(began: number): Hour {
    // Turns come nearly in the order of time, so it is the last one or close to it.
    const before = hours.findLastIndex((hour) => hour.began <= began);
    const known = hours[before];
    if (known?.began === began) return known;
    const hour: Hour = { began, tenants: new Map() };
    hours.splice(before + 1, 0, hour);
    while (hours.length > 1 && (hours.length > hoursKept || countRows(hours) > rowsKept))
      hours.shift();
    return hour;
  }

  function sumFor(tenant: Tenant, at: number, model: string): Sum {
    const began = at - (at % HOUR_MS);
    const last = hours.at(-1);
    const { tenants } = last?.began === began ? last : hourOf(began);
    let models = tenants.get(tenant);
    if (models === undefined) tenants.set(tenant, (models = new Map()));
    const name = models.has(model) || models.size < modelsKept ? model : OTHER;
    let sum = models.get(name);
    if (sum === undefined) models.set(name, (sum = { ...noUsage }));
    return sum;
  }

  return {
    add(tenant, at, entry) {
      addTurn(sumFor(tenant, at, entry.model), entry);
    },
    read: (tenant, start, end) =>
      hours
        .filter(({ began }) => began >= start && began < end)
        .flatMap(({ began, tenants }) =>
          [...(tenants.get(tenant) ?? [])].map(([model, sum]) => ({
            hour: began,
            model,
            sum: { ...sum },
          })),
        ),
  };
}

function countRows(hours: readonly Hour[]): number {
  let rows = 0;
  for (const { tenants } of hours) for (const models of tenants.values()) rows += models.size;
  return rows;
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
  cacheWrite: 0,
  reasoning: 0,
  calls: 0,
  truncated: 0,
  cost: 0,
};

function addTurn(sum: Sum, { usage, cost = 0, failed, calls, truncated }: UsageEntry): void {
  sum.requests++;
  if (failed) sum.failures++;
  if (truncated) sum.truncated++;
  if (usage === undefined || usage.estimated === true) sum.uncounted++;
  sum.calls += calls;
  sum.cost += Math.min(Math.round(cost * COST_UNITS), Number.MAX_SAFE_INTEGER);
  if (usage === undefined) return;
  sum.input += usage.input;
  sum.output += usage.output;
  sum.total += usage.total;
  sum.cached += usage.cached ?? 0;
  sum.cacheWrite += usage.cacheWrite ?? 0;
  sum.reasoning += usage.reasoning ?? 0;
}

/** The counts of a sum, in the order in which databases have their columns. */
export const usageCounts = [
  "requests",
  "failures",
  "uncounted",
  "input",
  "output",
  "total",
  "cached",
  "cacheWrite",
  "reasoning",
  "calls",
  "truncated",
  "cost",
] as const satisfies readonly (keyof UsageSum)[];

/** The name of a count in databases, which do not tell capitals from small letters. */
export const usageColumn = (count: (typeof usageCounts)[number]): string =>
  count.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type TenantRow = UsageRow & { readonly tenant: Tenant };

/** What a batch of turns adds, a row for each tenant, hour and model, always in the same order. */
export function batchUsage(
  batch: readonly {
    readonly tenant: Tenant;
    readonly at: number;
    readonly usage: UsageEntry | undefined;
  }[],
): readonly TenantRow[] {
  const rows = new Map<string, { readonly row: TenantRow; readonly sum: Sum }>();
  for (const { tenant, at, usage } of batch) {
    if (usage === undefined) continue;
    const hour = hourBegan(at);
    const key = `${tenant}\n${hour}\n${usage.model}`;
    let entry = rows.get(key);
    if (entry === undefined) {
      const sum: Sum = { ...noUsage };
      entry = { sum, row: { tenant, hour, model: usage.model, sum } };
      rows.set(key, entry);
    }
    addTurn(entry.sum, usage);
  }
  // Two processes that lock rows in different orders would wait for each other.
  return [...rows.keys()].toSorted().flatMap((key) => rows.get(key)?.row ?? []);
}

/** Several sums in one. */
export function addUp(sums: Iterable<UsageSum>): UsageSum {
  const whole: Sum = { ...noUsage };
  for (const sum of sums) for (const count of usageCounts) whole[count] += sum[count];
  return whole;
}
