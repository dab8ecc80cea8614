import {
  addUp,
  COST_UNITS,
  hourBegan,
  HOUR_MS,
  type UsageRow,
  type UsageSum,
} from "../../history/usage-sums.ts";
import type { Fault } from "../../turn/fault.ts";
import type { RequestContext } from "../state.ts";
import { sendJson } from "./send-json.ts";
import { wrongParam } from "./to-fault.ts";

type Group = "hour" | "day";
const groupMs: Readonly<Record<Group, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS };

/** A range of whole hours, because sums are kept by the hour. */
export type UsageQuery = {
  readonly start: number;
  readonly end: number;
  readonly group: Group;
  readonly model?: string | undefined;
};

const paramNames = ["start", "end", "group", "model"];
const DAYS_KEPT = 35;

export function readUsageQuery(query: string, now: number): UsageQuery {
  const params = new URLSearchParams(query);
  for (const name of params.keys())
    if (!paramNames.includes(name))
      throw wrong(name, `is not known here; there are ${paramNames.join(", ")}`);
  const group = params.get("group") || "hour";
  if (group !== "hour" && group !== "day") throw wrong("group", "must be `hour` or `day`");
  const until = momentIn(params, "end") ?? now;
  const from = momentIn(params, "start") ?? until - DAYS_KEPT * groupMs.day;
  if (from > until) throw wrong("start", "must not be later than `end`");
  const [start, end] = [hourBegan(Math.max(from, 0)), hourBegan(until + HOUR_MS - 1)];
  return { start, end, group, model: params.get("model") || undefined };
}

/** A date, or a number of milliseconds since the epoch; one too small for that is of seconds. */
function momentIn(params: URLSearchParams, name: string): number | undefined {
  // In a query an unescaped `+`, as in `+02:00`, is a space.
  const text = params.get(name)?.trim().replace(" ", "+") ?? "";
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text) * (text.length > 10 ? 1 : 1000);
  const hasZone = !text.includes("T") || /(?:Z|[+-]\d\d:?\d\d)$/i.test(text);
  const moment = /^\d{4}-/.test(text) ? Date.parse(hasZone ? text : `${text}Z`) : Number.NaN;
  if (!Number.isNaN(moment)) return moment;
  const remedy =
    "a date such as `2026-01-31` or `2026-01-31T12:00:00Z`, or seconds or milliseconds";
  throw wrong(name, `must be ${remedy} since 1970`);
}

const wrong = (param: string, problem: string): Fault => wrongParam(param.slice(0, 80), problem);

/** The sums as the older Codex proxy gave them, except that they are counts and not estimates. */
export function usageBody(
  rows: readonly UsageRow[],
  { start, end, group, model }: UsageQuery,
): Readonly<Record<string, unknown>> {
  const asked = model === undefined ? rows : rows.filter((row) => row.model === model);
  const began = ({ hour }: UsageRow): number => hour - (hour % groupMs[group]);
  const bucket = (at: number, inside: readonly UsageRow[]): Readonly<Record<string, unknown>> => ({
    start: at,
    end: at + groupMs[group],
    ...summed(inside),
  });
  const buckets = Array.from(Map.groupBy(asked, began), ([at, inside]) => bucket(at, inside));
  return { object: "usage", start, end, group, ...summed(asked), buckets };
}

const summed = (rows: readonly UsageRow[]): Readonly<Record<string, unknown>> => {
  const byModel = [...Map.groupBy(rows, ({ model }) => model)].map(
    ([name, own]) => [name, usageFields(addUp(own.map(({ sum }) => sum)))] as const,
  );
  return {
    ...usageFields(addUp(rows.map(({ sum }) => sum))),
    models: Object.fromEntries(byModel),
  };
};

const usageFields = (sum: UsageSum): Readonly<Record<string, number>> => ({
  total_requests: sum.requests,
  failed_requests: sum.failures,
  uncounted_requests: sum.uncounted,
  prompt_tokens: sum.input,
  completion_tokens: sum.output,
  total_tokens: sum.total,
  cached_tokens: sum.cached,
  cache_write_tokens: sum.cacheWrite,
  reasoning_tokens: sum.reasoning,
  tool_call_count_total: sum.calls,
  tool_call_truncated_total: sum.truncated,
  ...(sum.cost > 0 && { cost: sum.cost / COST_UNITS }),
});

/** Answers with the usage of the tenant, or of all clients if there are no keys. */
export async function serveUsage(context: RequestContext): Promise<void> {
  const { store, clock } = context.state;
  const query = readUsageQuery(context.exchange.query, clock.date());
  const rows = await store.sumUsage(context.tenant, query.start, query.end);
  sendJson(context, 200, usageBody(rows, query));
}
