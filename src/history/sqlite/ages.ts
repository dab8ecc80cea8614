import type { DatabaseSync } from "node:sqlite";
import { AgeWatch, type AgeState } from "../age-watch.ts";
import type { SweepBounds, Swept } from "../database.ts";
import type { HostClock } from "./connection.ts";

/**
 * Time of a new row: the current time, or that of the newest row if the clock was
 * set back. Otherwise rows from such a time would expire when the clock is right again.
 */
export function rowTime(database: DatabaseSync, clock: HostClock): () => number {
  const newest = database.prepare(`
    SELECT max(
      coalesce((SELECT at FROM turns ORDER BY seq DESC LIMIT 1), 0),
      coalesce((SELECT at FROM conversations ORDER BY seq DESC LIMIT 1), 0)
    ) AS at`);
  return () => Math.max(Math.floor(clock.date()), Number(newest.get()?.["at"]));
}

type Expired = { readonly since: number; readonly usageSince: number };

/** Drops expired rows in the transaction of a sweep, unless the clock may have been set. */
export function sqliteAges(database: DatabaseSync, clock: HostClock) {
  const watch = new AgeWatch();
  const count = database.prepare(`
    SELECT count(*) AS rows, count(*) FILTER (WHERE at < ?1) AS expired, max(at) AS newest FROM turns
    UNION ALL
    SELECT count(*), count(*) FILTER (WHERE at < ?1), max(at) FROM conversations
    UNION ALL
    SELECT count(*), count(*) FILTER (WHERE hour < ?2), NULL FROM usage`);
  const find = database.prepare("SELECT seen, waited FROM age_state");
  const keep = database.prepare("INSERT OR REPLACE INTO age_state VALUES (1, ?, ?)");
  return {
    drop(
      { maxAgeMs, maxUsageAgeMs }: Pick<SweepBounds, "maxAgeMs" | "maxUsageAgeMs">,
      dropExpired: (expired: Expired) => boolean,
    ): Swept {
      const now = Math.floor(clock.date());
      const expired = { since: now - maxAgeMs, usageSince: now - maxUsageAgeMs };
      const counted = count.all(expired.since, expired.usageSince);
      const kinds = counted.map(({ rows, expired: old, newest }) => ({
        rows: Number(rows),
        expired: Number(old),
        newest: Number(newest),
      }));
      const ages = { now, kinds, maxAgeMs };
      const before = find.get() as AgeState | undefined;
      const { drops, waits, state } = watch.judge(ages, clock.uptime(), before);
      const more = drops && dropExpired(expired);
      keep.run(state.seen, drops && !more ? null : state.waited);
      return { more, waits };
    },
  };
}
