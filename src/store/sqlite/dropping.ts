import type { DatabaseSync } from "node:sqlite";
import { PLAN_PLACE } from "../chain-rows.ts";
import type { Operations } from "../database.ts";
import { fairShares } from "../fair-share.ts";
import { PARTS } from "./writing.ts";

type Dropping = Pick<Operations, "sweep" | "deleteResponse">;
type Transaction = <Result>(run: () => Result) => Result;

/** How many turns are dropped in one transaction: others that want to write wait for it. */
const STEP = 500;

/** Deletes by id, by age and by size. */
export function sqliteDropping(database: DatabaseSync, inTransaction: Transaction): Dropping {
  const byAnswer = database.prepare(
    "SELECT seq, max(stored AND at >= ?3) OVER () AS known FROM turns WHERE tenant = ?1 AND answer_id = ?2",
  );
  const expired = database.prepare(`SELECT seq FROM turns WHERE at < ? LIMIT ${STEP}`);
  const dropUsage = database.prepare("DELETE FROM usage WHERE hour < ?");
  const sums = database.prepare(
    "SELECT tenant, sum(bytes) AS bytes, sum(plan_bytes) AS plans FROM turns GROUP BY tenant",
  );
  const dropSeals = database.prepare("DELETE FROM seals WHERE turn = ?");
  const dropParts = database.prepare("DELETE FROM parts WHERE part BETWEEN ? AND ?");
  const dropTurn = database.prepare("DELETE FROM turns WHERE seq = ?");
  const heavy = {
    bytes: database.prepare(oldestSql("bytes")),
    plan_bytes: database.prepare(oldestSql("plan_bytes")),
  };
  const emptied = {
    bytes: database.prepare("UPDATE turns SET bytes = 0, item_bytes = 0, stored = 0 WHERE seq = ?"),
    plan_bytes: database.prepare("UPDATE turns SET plan_bytes = 0 WHERE seq = ?"),
  };
  const dropEmpty = database.prepare(
    "DELETE FROM turns WHERE seq = ? AND bytes = 0 AND plan_bytes = 0",
  );

  function drop(seq: number): void {
    dropParts.run(seq * PARTS, seq * PARTS + PARTS - 1);
    dropSeals.run(seq);
    dropTurn.run(seq);
  }

  /** Drops the answer of a turn or its plan. */
  function dropHalf(column: keyof typeof heavy, seq: number): void {
    const plan = seq * PARTS + PLAN_PLACE;
    if (column === "plan_bytes") dropParts.run(plan, plan);
    else {
      dropParts.run(plan + 1, seq * PARTS + PARTS - 1);
      dropSeals.run(seq);
    }
    emptied[column].run(seq);
    dropEmpty.run(seq);
  }

  function dropExpired(since: number): boolean {
    const seqs = expired.all(since);
    for (const { seq } of seqs) drop(Number(seq));
    return seqs.length === STEP;
  }

  function dropHeavy(column: keyof typeof heavy, maxBytes: number): boolean {
    const name = column === "bytes" ? "bytes" : "plans";
    const held = new Map(sums.all().map((row) => [String(row["tenant"]), Number(row[name])]));
    let more = false;
    for (const [tenant, share] of fairShares(held, maxBytes)) {
      const seqs = heavy[column].all(tenant, share);
      for (const { seq } of seqs) dropHalf(column, Number(seq));
      more ||= seqs.length === STEP;
    }
    return more;
  }

  return {
    deleteResponse: ({ tenant, id, since }) =>
      inTransaction(() => {
        const turns = byAnswer.all(tenant, id, since);
        if (turns[0]?.["known"] !== 1) return false;
        for (const { seq } of turns) drop(Number(seq));
        return true;
      }),
    sweep: ({ since, usageSince, maxBytes, maxPlanBytes }) =>
      inTransaction(() => {
        dropUsage.run(usageSince);
        const steps = [
          dropExpired(since),
          dropHeavy("bytes", maxBytes),
          dropHeavy("plan_bytes", maxPlanBytes),
        ];
        return steps.includes(true);
      }),
  };
}

/** The oldest turns of a tenant beyond its share. */
const oldestSql = (column: string): string => `
SELECT seq FROM (
  SELECT seq, ${column} AS own, sum(${column}) OVER (ORDER BY seq DESC) AS newer
  FROM turns WHERE tenant = ?1
) WHERE newer > ?2 AND own > 0 ORDER BY seq LIMIT ${STEP}`;
