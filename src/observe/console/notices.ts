/** Happenings that concern more than one turn, and recent problems. */

import { reasonWords } from "../../turn/failure-reason.ts";
import type { Happening, HappeningType, StoreNotice } from "../happening.ts";
import type { RecentTurns } from "../recent-turns.ts";
import type { ConsoleStatus } from "./wire.ts";

type Notice = { readonly at: number; readonly happening: Happening };

const MOST = 200;
const types = [
  "fallback",
  "blocked",
  "child",
  "reload",
  "store",
  "trouble",
  "unwritable",
] as const satisfies readonly HappeningType[];

/** The latest notices, numbered from 1. */
export class Notices {
  readonly #date: () => number;
  readonly #kept: Notice[] = [];
  last = 0;

  constructor(date: () => number) {
    this.#date = date;
  }

  readonly add = Object.assign(
    (happening: Happening): void => {
      this.last++;
      this.#kept.push({ at: this.#date(), happening });
      if (this.#kept.length > MOST) this.#kept.shift();
    },
    { types },
  );

  since(number: number): readonly Notice[] {
    const first = this.last - this.#kept.length + 1;
    return this.#kept.slice(Math.max(0, number + 1 - first));
  }
}

/** Older problems are not shown. */
const LATELY_MS = 10 * 60_000;
const LOOKED_AT = 200;

type Wrong = ConsoleStatus["wrong"][number];

/** The problems of the last minutes by upstream and fault, with their counts, the latest last. */
export function recentProblems(
  recent: Pick<RecentTurns, "since">,
  notices: Pick<Notices, "since">,
  now: number,
): Wrong[] {
  const since = now - LATELY_MS;
  const noticed = notices.since(0).filter(({ at }) => at >= since);
  const wrong: Wrong[] = noticed.flatMap((notice) => wrongIn(notice) ?? []);
  const failed = new Map<string, Wrong & { readonly count: number }>();
  for (const turn of recent.since({ latest: LOOKED_AT }).turns) {
    if (turn.type !== "turn" || turn.outcome !== "failed" || turn.at < since) continue;
    const fault = turn.fault ?? "failed";
    // Faults of clients are no problem of the gateway.
    if (!/^(?:upstream|gateway|store)\./.test(fault)) continue;
    const reason = turn.attempts.at(-1)?.reason;
    const words = reasonWords(reason);
    const key = `${turn.upstream} ${fault} ${words}`;
    const count = (failed.get(key)?.count ?? 0) + 1;
    const what = `${fault}${words === "" ? "" : ` (${words})`}`;
    const why = reason?.message === undefined ? "" : `: ${reason.message}`;
    const problem = `${count} ${count === 1 ? "turn" : "turns"} failed with ${what}${why}`;
    failed.set(key, { at: turn.at, about: turn.upstream, problem, count });
  }
  for (const { at, about, problem } of failed.values()) wrong.push({ at, about, problem });
  return wrong.toSorted((a, b) => a.at - b.at);
}

function wrongIn({ at, happening }: Notice): Wrong | undefined {
  switch (happening.type) {
    case "unwritable":
      return { at, about: happening.setting, problem: `${happening.path} ${happening.problem}` };
    case "trouble": {
      const problem = `an internal error (${happening.error}); see the log for details`;
      return { at, about: "gateway", problem };
    }
    case "store":
      // The status of the store shows whether it is available.
      return happening.event === "available" || happening.event === "unavailable"
        ? undefined
        : { at, about: "store", problem: happening.problem ?? happening.event };
    default:
      return undefined;
  }
}

/** The times when the store last became unavailable and available. */
export function storeAbsence(
  notices: Pick<Notices, "since">,
): Pick<ConsoleStatus["store"], "awayAt" | "backAt"> {
  const kept = notices.since(0);
  const latest = (event: StoreNotice["event"], before = kept.length): number =>
    kept.findLastIndex(
      ({ happening }, at) => at < before && happening.type === "store" && happening.event === event,
    );
  const back = latest("available");
  const away = latest("unavailable");
  if (away > back) return { awayAt: kept[away]?.at };
  return { awayAt: kept[latest("unavailable", back)]?.at, backAt: kept[back]?.at };
}
