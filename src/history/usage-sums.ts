import type { Tenant } from "../turn/tenant.ts";
import type { UsageEntry } from "./log.ts";

/** The counts of a sum, in the order of their columns in databases. All are whole numbers. */
export const usageCounts = [
  "requests",
  "failures",
  // Turns with estimated tokens, because the upstream did not report all of them.
  "uncounted",
  "input",
  "output",
  "total",
  "cached",
  "cacheWrite",
  "reasoning",
  "calls",
  // Turns with truncated calls.
  "truncated",
  // In billionths of the currency.
  "cost",
] as const;

/** Sums over turns. */
export type UsageSum = Readonly<Record<(typeof usageCounts)[number], number>>;
type Sum = { -readonly [K in keyof UsageSum]: number };

export const COST_UNITS = 1e9;

/** The turns of one tenant with one model in one hour. */
export type UsageRow = {
  /** The start of the hour, in milliseconds since the epoch. */
  readonly hour: number;
  readonly model: string;
  readonly sum: UsageSum;
};

export const HOUR_MS = 3_600_000;

/** The name for all models beyond the bound. */
export const OTHER = "other";

export const HOURS_KEPT = 24 * 35;
/** The most models of a tenant in an hour. */
export const MODELS_KEPT = 100;
/** The most rows, at about 300 bytes each: many tenants with many models keep fewer hours. */
const ROWS_KEPT = 100_000;

type Tenants = Map<Tenant, Map<string, Sum>>;

type Bounds = { readonly hours?: number; readonly models?: number; readonly rows?: number };

/** Sums by the hour in the memory of the process. */
export class UsageSums {
  readonly #hours = new Map<number, Tenants>();
  readonly #bounds: Required<Bounds>;

  constructor({ hours = HOURS_KEPT, models = MODELS_KEPT, rows = ROWS_KEPT }: Bounds = {}) {
    this.#bounds = { hours, models, rows };
  }

  /** `at`: milliseconds since the epoch. */
  add(tenant: Tenant, at: number, entry: UsageEntry): void {
    const hour = hourBegan(at);
    const tenants = this.#hours.get(hour) ?? this.#begin(hour);
    let models = tenants.get(tenant);
    if (models === undefined) tenants.set(tenant, (models = new Map()));
    const isFull = !models.has(entry.model) && models.size >= this.#bounds.models;
    const model = isFull ? OTHER : entry.model;
    let sum = models.get(model);
    if (sum === undefined) models.set(model, (sum = { ...noUsage }));
    addTurn(sum, entry);
  }

  /** A tenant's rows of the hours from `start` until before `end`, oldest first. */
  read(tenant: Tenant, start: number, end: number): readonly UsageRow[] {
    return [...this.#hours]
      .filter(([hour]) => hour >= start && hour < end)
      .toSorted(([a], [b]) => a - b)
      .flatMap(([hour, tenants]) =>
        Array.from(tenants.get(tenant) ?? [], ([model, sum]) => ({ hour, model, sum: { ...sum } })),
      );
  }

  #begin(hour: number): Tenants {
    const tenants: Tenants = new Map();
    this.#hours.set(hour, tenants);
    const { hours, rows } = this.#bounds;
    while (this.#hours.size > 1 && (this.#hours.size > hours || this.#countRows() > rows))
      this.#hours.delete([...this.#hours.keys()].reduce((a, b) => Math.min(a, b)));
    return tenants;
  }

  #countRows(): number {
    let rows = 0;
    for (const tenants of this.#hours.values())
      for (const models of tenants.values()) rows += models.size;
    return rows;
  }
}

export const hourBegan = (at: number): number => at - (at % HOUR_MS);

const noUsage = Object.fromEntries(usageCounts.map((count) => [count, 0])) as UsageSum;

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

/** The name of a count in databases, which ignore the case of letters. */
export const usageColumn = (count: keyof UsageSum): string =>
  count.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type TenantRow = UsageRow & { readonly tenant: Tenant };

type UsedTurn = {
  readonly tenant: Tenant;
  readonly at: number;
  readonly usage: UsageEntry | undefined;
};

/** The rows that a batch of turns adds to, one for each tenant, hour and model, always in the same order. */
export function batchUsage(batch: readonly UsedTurn[]): readonly TenantRow[] {
  const rows = new Map<string, TenantRow & { readonly sum: Sum }>();
  for (const { tenant, at, usage } of batch) {
    if (usage === undefined) continue;
    const hour = hourBegan(at);
    const key = `${tenant}\n${hour}\n${usage.model}`;
    const row = rows.get(key) ?? { tenant, hour, model: usage.model, sum: { ...noUsage } };
    rows.set(key, row);
    addTurn(row.sum, usage);
  }
  // In one order: two processes that lock rows in different orders would deadlock.
  return [...rows.keys()].toSorted().flatMap((key) => rows.get(key) ?? []);
}

/** Adds several sums. */
export function addUp(sums: Iterable<UsageSum>): UsageSum {
  const whole: Sum = { ...noUsage };
  for (const sum of sums) for (const count of usageCounts) whole[count] += sum[count];
  return whole;
}
