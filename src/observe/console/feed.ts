import type { Gateway } from "../../gateway/gateway.ts";
import { turnRow } from "../../gateway/run/prices.ts";
import type { RecentTurn } from "../recent-turns.ts";
import type { Notices } from "./notices.ts";

const MOST_RUNNING = 200;
/** Past turns, unless the request sets another number. */
const LAST = 100;

type Watched = Pick<Gateway, "recent" | "running" | "priceOf">;

/**
 * The turns and notices after those that the query names, or the latest ones. A reader asks again
 * and again with the numbers of its last batch, so the gateway keeps nothing for its readers.
 * `most`: turns without a problem; others are only counted.
 */
export function feedBatch({ recent, running, priceOf }: Watched, notices: Notices, query: string) {
  const params = new URLSearchParams(query);
  const numberOf = (name: string): number | undefined => {
    const number = Number.parseInt(params.get(name) ?? "", 10);
    return number >= 0 ? number : undefined;
  };
  const latest = numberOf("last") ?? LAST;
  const since = numberOf("since");
  const { turns, last, lost } = recent.since(since === undefined ? { latest } : { since });
  const shown = sampled(turns, numberOf("most") ?? Infinity);
  // A request without past turns receives no past notices.
  const noticed = numberOf("notices") ?? (latest === 0 ? notices.last : 0);
  return {
    object: "batch",
    last,
    lost,
    unsent: turns.length - shown.length,
    turns: shown.map((turn) => turnRow(turn, priceOf)),
    running: running().slice(-MOST_RUNNING),
    lastNotice: notices.last,
    notices: notices.since(noticed).map(({ at, happening }) => Object.assign({ at }, happening)),
  };
}

const isWrong = (turn: RecentTurn): boolean => turn.type === "refusal" || turn.outcome === "failed";

/** All turns with a problem, and an even sample of at most `most` others. */
function sampled(turns: readonly RecentTurn[], most: number): readonly RecentTurn[] {
  const well = turns.reduce((count, turn) => count + (isWrong(turn) ? 0 : 1), 0);
  if (well <= most) return turns;
  let seen = 0;
  return turns.filter((turn) => {
    if (isWrong(turn)) return true;
    const before = Math.floor((seen * most) / well);
    seen++;
    return Math.floor((seen * most) / well) > before;
  });
}
