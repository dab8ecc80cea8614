/** The ages of rows, by the clock of the database. */

import type { Sql } from "postgres";
import type { Ages, AgeState } from "../age-watch.ts";

/** Milliseconds since the epoch. */
export const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/**
 * Time of a new row: the current time, or that of the newest row if the clock was
 * set back. Otherwise rows from such a time would expire when the clock is right again.
 */
export const ROW_TIME = `(SELECT greatest(
  ${NOW},
  (SELECT at FROM patchbay.turns ORDER BY seq DESC LIMIT 1),
  (SELECT at FROM patchbay.conversations ORDER BY seq DESC LIMIT 1)
))`;

type Asking = Pick<Sql, "unsafe">;

const countSql = `
WITH moment AS MATERIALIZED (SELECT ${NOW} AS now)
SELECT now::float8, count(at)::float8 AS rows,
  (count(*) FILTER (WHERE at < now - $1::text::bigint))::float8 AS expired, max(at)::float8 AS newest
FROM moment LEFT JOIN patchbay.turns ON true GROUP BY now
UNION ALL
SELECT now, count(at), count(*) FILTER (WHERE at < now - $1::text::bigint), max(at)
FROM moment LEFT JOIN patchbay.conversations ON true GROUP BY now
UNION ALL
SELECT now, count(hour), count(*) FILTER (WHERE hour < now - $2::text::bigint), NULL
FROM moment LEFT JOIN patchbay.usage ON true GROUP BY now`;

export async function countAges(
  sql: Asking,
  maxAgeMs: number,
  maxUsageAgeMs: number,
): Promise<{ readonly ages: Ages; readonly state: AgeState | undefined }> {
  const bounds = [String(maxAgeMs), String(maxUsageAgeMs)];
  const counted = await sql.unsafe(countSql, bounds, { prepare: true });
  const [state] = await sql.unsafe("SELECT seen::float8, waited::float8 FROM patchbay.age_state");
  const ages = {
    now: Number(counted[0]?.["now"]),
    kinds: counted.map((row) => ({
      rows: Number(row["rows"]),
      expired: Number(row["expired"]),
      newest: Number(row["newest"]),
    })),
    maxAgeMs,
  };
  return { ages, state: state as AgeState | undefined };
}

export async function keepAgeState(sql: Asking, { seen, waited }: AgeState): Promise<void> {
  await sql.unsafe(
    `INSERT INTO patchbay.age_state VALUES (1, $1::text::bigint, $2::text::bigint)
     ON CONFLICT (one) DO UPDATE SET seen = excluded.seen, waited = excluded.waited`,
    [String(seen), waited === null ? null : String(waited)],
    { prepare: true },
  );
}
