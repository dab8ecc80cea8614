import { reasonWords } from "../../turn/failure-reason.ts";
import type { Happening, StoreNotice } from "../happening.ts";
import type { RecentTurns } from "../recent-turns.ts";
import type { Notices } from "./notices.ts";
import type { Status } from "./wire.ts";

/** What is longer ago is history, and no problem any more. */
const LATELY_MS = 10 * 60_000;
const LOOKED_AT = 200;

type Wrong = Status["wrong"][number];

/** What has gone wrong in the last minutes: by upstream and fault, with how often, the latest last. */
export function recentProblems(
  recent: Pick<RecentTurns, "since" | "last">,
  notices: Pick<Notices, "since">,
  now: number,
): Wrong[] {
  const since = now - LATELY_MS;
  const wrong: Wrong[] = notices
    .since(0)
    .filter(({ at }) => at >= since)
    .flatMap(({ at, happening }) => wrongIn(happening).map((one) => Object.assign(one, { at })));
  const failed = new Map<string, Wrong & { readonly count: number }>();
  for (const turn of recent.since(Math.max(0, recent.last - LOOKED_AT)).turns) {
    if (turn.type !== "turn" || turn.outcome !== "failed" || turn.at < since) continue;
    const fault = turn.fault ?? "failed";
    // What a client asked wrongly is the client's to mend.
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

/** When the store was last away, and when it was back; its problem is told apart from that. */
export function storeAbsence(
  notices: Pick<Notices, "since">,
): Pick<Status["store"], "awayAt" | "backAt"> {
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

type Told = { readonly about: string; readonly problem: string };

function wrongIn(happening: Happening): Told[] {
  switch (happening.type) {
    case "unwritable":
      return [{ about: happening.setting, problem: `${happening.path} ${happening.problem}` }];
    case "trouble":
      return [
        { about: "gateway", problem: `an error of its own (${happening.error}); its log has more` },
      ];
    case "store":
      // The state of the store itself says whether it is away.
      return happening.event === "available" || happening.event === "unavailable"
        ? []
        : [{ about: "store", problem: happening.problem ?? happening.event }];
    default:
      return [];
  }
}
