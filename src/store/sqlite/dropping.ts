import type { DatabaseSync } from "node:sqlite";
import { PLAN_PLACE } from "../chain-rows.ts";
import type { Operations } from "../database.ts";
import { fairShares } from "../fair-share.ts";
import { conversationDropping } from "./conversations.ts";
import { inTransaction } from "./transaction.ts";
import { PARTS, SqliteSegments } from "./segments.ts";

/** How many turns are dropped in one transaction: others that want to write wait for it. */
const STEP = 500;

/** What is weighed: an answer, or its plan. */
type Column = "bytes" | "plan_bytes";

/** Deletes by id, by age and by size. */
export function sqliteDropping(
  database: DatabaseSync,
): Pick<Operations, "sweep" | "deleteResponse"> {
  const byAnswer = database.prepare(
    "SELECT seq, max(stored AND at >= ?3) OVER () AS known FROM turns WHERE tenant = ?1 AND answer_id = ?2",
  );
  const expired = database.prepare(`SELECT seq FROM turns WHERE at < ? LIMIT ${STEP}`);
  const dropUsage = database.prepare("DELETE FROM usage WHERE hour < ?");
  const sums = {
    bytes: database.prepare(sumSql("bytes")),
    plan_bytes: database.prepare(sumSql("plan_bytes")),
  };
  const oldest = {
    bytes: database.prepare(oldestSql("bytes")),
    plan_bytes: database.prepare(oldestSql("plan_bytes")),
  };
  const { drop, dropHalf } = turnDropping(database);
  const { sweep: sweepConversations } = conversationDropping(database);

  function dropExpired(since: number): boolean {
    const seqs = expired.all(since);
    for (const { seq } of seqs) drop(Number(seq));
    return seqs.length === STEP;
  }

  function dropHeavy(column: Column, maxBytes: number): boolean {
    const rows = sums[column].all();
    const held = new Map(rows.map((row) => [String(row["tenant"]), Number(row["held"])]));
    let more = false;
    for (const [tenant, share] of fairShares(held, maxBytes)) {
      const seqs = oldest[column].all(tenant, share);
      for (const { seq } of seqs) dropHalf(column, Number(seq));
      more ||= seqs.length === STEP;
    }
    return more;
  }

  return {
    deleteResponse: ({ tenant, id, since }) =>
      inTransaction(database, () => {
        const turns = byAnswer.all(tenant, id, since);
        if (turns[0]?.["known"] !== 1) return false;
        for (const { seq } of turns) drop(Number(seq));
        return true;
      }),
    sweep: ({ since, usageSince, maxBytes, maxPlanBytes }) =>
      inTransaction(database, () => {
        dropUsage.run(usageSince);
        // Conversations may take up to half of what answers else have.
        const conversations = sweepConversations(since, maxBytes / 2);
        const steps = [
          conversations.more,
          dropExpired(since),
          dropHeavy("bytes", maxBytes - conversations.bytes),
          dropHeavy("plan_bytes", maxPlanBytes),
        ];
        return steps.includes(true);
      }),
  };
}

function turnDropping(database: DatabaseSync): {
  readonly drop: (seq: number) => void;
  /** Drops the answer of a turn or its plan. */
  readonly dropHalf: (column: Column, seq: number) => void;
} {
  const segments = new SqliteSegments(database);
  const dropSeals = database.prepare("DELETE FROM seals WHERE turn = ?");
  const dropParts = database.prepare("DELETE FROM parts WHERE part BETWEEN ? AND ?");
  const dropTurn = database.prepare("DELETE FROM turns WHERE seq = ?");
  const empty = {
    bytes: database.prepare("UPDATE turns SET bytes = 0, item_bytes = 0, stored = 0 WHERE seq = ?"),
    plan_bytes: database.prepare("UPDATE turns SET plan_bytes = 0 WHERE seq = ?"),
  };
  const dropEmpty = database.prepare(
    "DELETE FROM turns WHERE seq = ? AND bytes = 0 AND plan_bytes = 0",
  );
  return {
    drop(seq) {
      segments.drop(seq);
      dropParts.run(seq * PARTS, seq * PARTS + PARTS - 1);
      dropSeals.run(seq);
      dropTurn.run(seq);
    },
    dropHalf(column, seq) {
      const plan = seq * PARTS + PLAN_PLACE;
      if (column === "plan_bytes") dropParts.run(plan, plan);
      else {
        segments.drop(seq);
        dropParts.run(plan + 1, seq * PARTS + PARTS - 1);
        dropSeals.run(seq);
      }
      empty[column].run(seq);
      dropEmpty.run(seq);
    },
  };
}

const sumSql = (column: Column): string =>
  `SELECT tenant, sum(${column}) AS held FROM turns GROUP BY tenant`;

/** The oldest turns of a tenant beyond its share. */
const oldestSql = (column: Column): string => `
SELECT seq FROM (
  SELECT seq, ${column} AS own, sum(${column}) OVER (ORDER BY seq DESC) AS newer
  FROM turns WHERE tenant = ?1
) WHERE newer > ?2 AND own > 0 ORDER BY seq LIMIT ${STEP}`;
