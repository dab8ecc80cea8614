import type { Sql } from "postgres";
import type { Spent } from "../store.ts";

/**
 * Takes what was spent off the quotas of tenants, counted for all replicas together.
 * In one statement: a row is locked from reading its level to writing it. In the
 * order of the key, so that replicas never wait for each other in a circle.
 */
export async function spend(sql: Sql, spent: readonly Spent[]): Promise<readonly number[]> {
  if (spent.length === 0) return [];
  const keyOf = ({ tenant, kind }: Pick<Spent, "tenant" | "kind">): string => `${kind} ${tenant}`;
  const rows = spent.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const written = await sql`
    INSERT INTO patchbay.rate_limits AS r (tenant, kind, per_minute, level, at)
    SELECT tenant, kind, per_minute, per_minute - amount, clock_timestamp()
    FROM jsonb_to_recordset(${JSON.stringify(
      rows.map(({ tenant, kind, perMinute, amount }) => ({
        tenant,
        kind,
        per_minute: perMinute,
        amount,
      })),
    )}::text::jsonb) AS s(tenant text, kind text, per_minute float8, amount float8)
    ORDER BY kind, tenant
    ON CONFLICT (tenant, kind) DO UPDATE SET
      per_minute = excluded.per_minute,
      level = least(
        excluded.per_minute,
        r.level + extract(epoch FROM clock_timestamp() - r.at)::float8 * excluded.per_minute / 60
      ) - (excluded.per_minute - excluded.level),
      at = clock_timestamp()
    RETURNING tenant, kind, level`;
  const levels = new Map(
    written.map((row) => [
      keyOf({ tenant: String(row["tenant"]), kind: String(row["kind"]) }),
      Number(row["level"]),
    ]),
  );
  return spent.map((one) => levels.get(keyOf(one)) ?? one.perMinute);
}
