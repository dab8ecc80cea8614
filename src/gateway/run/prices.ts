/** Costs of turns, by the prices in the configuration. */
import { z } from "zod";
import type { Usage } from "../../turn/event.ts";
import { ownOf } from "../../json/json.ts";
import type { Refusal, TurnDone } from "../../observe/happening.ts";
import type { RecentTurn } from "../../observe/recent-turns.ts";

export type PriceOf = (upstream: string, model: string) => Price | undefined;

type TurnRow =
  | Refusal
  | (Omit<TurnDone, "rules" | "callsByChoice"> & {
      /** Left out without a price or a count. */
      readonly cost?: number | undefined;
      readonly priceDate?: string | undefined;
    });

export function turnRow(turn: RecentTurn, priceOf: PriceOf): TurnRow {
  if (turn.type === "refusal") return turn;
  const { rules: _rules, callsByChoice: _calls, ...shown } = turn;
  const price = turn.usage === undefined ? undefined : priceOf(turn.upstream, turn.model);
  if (price === undefined || turn.usage === undefined) return shown;
  return { ...shown, cost: costOf(turn.usage, price), priceDate: price.date };
}

const amount = z.number().nonnegative();

/** Prices of a million tokens, all in one currency. */
const priceSchema = z.strictObject({
  input: amount.describe("Input tokens."),
  cached: amount.optional().describe("Input tokens read from a cache; default: as `input`."),
  cache_write: amount.optional().describe("Input tokens written to a cache; default: as `input`."),
  output: amount.describe("Output tokens."),
  date: z.string().max(40).optional().describe("Date of the price, shown with costs."),
});

export type Price = Readonly<z.output<typeof priceSchema>>;
type Prices = Readonly<Record<string, Price>>;

export const pricesSchema = z.record(z.string(), priceSchema).default({});

/** The price of an `upstream/model`, or else of the name that the client asked for. */
export const priceOf = (prices: Prices, upstream: string, model: string): Price | undefined =>
  ownOf(prices, upstream) ?? ownOf(prices, model);

type Priced = {
  readonly upstream: string;
  readonly model: string;
  readonly usage?: Usage | undefined;
};

/** The cost of a turn, and the name of its price; undefined without a price or a count. */
export function spendOf(
  prices: Prices,
  { upstream, model, usage }: Priced,
): { readonly name: string; readonly cost: number } | undefined {
  if (usage === undefined) return undefined;
  const name = Object.hasOwn(prices, upstream) ? upstream : model;
  const price = ownOf(prices, name);
  return price && { name, cost: costOf(usage, price) };
}

const MILLION = 1_000_000;

/** Cached tokens are part of the input, and are counted once. */
export function costOf(usage: Usage, price: Price): number {
  const { input, output, cached = 0, cacheWrite = 0 } = usage;
  const fresh = Math.max(0, input - cached - cacheWrite);
  const sum =
    fresh * price.input +
    cached * (price.cached ?? price.input) +
    cacheWrite * (price.cache_write ?? price.input) +
    output * price.output;
  return sum / MILLION;
}
