/** What is shown of a turn: in lists, in the feed of the console, and by `GET /v1/turns`. */

import type { Refusal, TurnDone } from "../../observe/happening.ts";
import type { RecentTurn } from "../../observe/recent-turns.ts";
import { costOf, type Price } from "./prices.ts";

export type PriceOf = (upstream: string, model: string) => Price | undefined;

export type TurnRow =
  | Refusal
  | (Omit<TurnDone, "rules" | "callsByChoice"> & {
      /** What it cost, and of when the price is; none where no price is known or nobody counted. */
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
