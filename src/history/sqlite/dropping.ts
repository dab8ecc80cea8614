import type { DatabaseSync } from "node:sqlite";
import { PLAN_PLACE } from "../chain-rows.ts";
import type { Operations } from "../database.ts";
import { addSums, fairShares } from "../fair-share.ts";
import { sqliteAges } from "./ages.ts";
import type { HostClock } from "./connection.ts";
import { leaseDropping } from "./leases.ts";
import { conversationDropping, heldBy } from "./conversations.ts";
import { inTransaction } from "./transaction.ts";
import { PARTS, SqliteSegments } from "./segments.ts";

/** How many turns are dropped in one transaction: others that want to write wait for it. */
const STEP = 500;

/** Rows from before these moments are too old. */
type Expired = { readonly since: number; readonly usageSince: number };

/** What is weighed: an answer, or its plan. */
type Column = "bytes" | "plan_bytes";

/** Deletes by id, by age and by size. */
export function sqliteDropping(
  database: DatabaseSync,
  clock: HostClock,
): Pick<Operations, "sweep" | "deleteResponse" | "deleteConversation"> {
  const byAnswer = database.prepare(
    "SELECT seq, max(stored) OVER () AS known FROM turns WHERE tenant = ?1 AND answer_id = ?2",
  );
  const expired = database.prepare(`SELECT seq FROM turns WHERE at < ? LIMIT ${STEP}`);
  const findConversation = database.prepare(
    "SELECT seq FROM conversations WHERE tenant = ? AND id = ?",
  );
  const keptFor = database.prepare(`
    SELECT seq FROM turns WHERE tenant = ?1 AND kept_for = ?2
    UNION SELECT seq FROM turns WHERE tenant = ?1 AND answer_id = ?2 AND stored = 0`);
  const leases = leaseDropping(database, clock);
  const dropUsage = database.prepare("DELETE FROM usage WHERE hour < ?");
  const sharedSums = database.prepare(sumSql("bytes", "shared_texts"));
  const byColumn = (sql: (column: Column) => string) => ({
    bytes: database.prepare(sql("bytes")),
    plan_bytes: database.prepare(sql("plan_bytes")),
  });
  const [sums, oldest] = [byColumn((column) => sumSql(column)), byColumn(oldestSql)];
  const { drop, dropHalf } = turnDropping(database);
  const conversations = conversationDropping(database);
  const ages = sqliteAges(database, clock);

  function dropExpired({ since, usageSince }: Expired): boolean {
    dropUsage.run(usageSince);
    const more = conversations.dropExpired(since);
    const seqs = expired.all(since);
    for (const { seq } of seqs) drop(Number(seq));
    return more || seqs.length === STEP;
  }

  function dropHeavy(column: Column, maxBytes: number): boolean {
    const shared = heldBy(column === "bytes" ? sharedSums.all() : []);
    const held = addSums(heldBy(sums[column].all()), shared);
    let more = false;
    for (const [tenant, share] of fairShares(held, maxBytes)) {
      const seqs = oldest[column].all(tenant, share - (shared.get(tenant) ?? 0));
      for (const { seq } of seqs) dropHalf(column, Number(seq));
      more ||= seqs.length === STEP;
    }
    return more;
  }

  return {
    deleteResponse: ({ tenant, id }) =>
      inTransaction(database, () => {
        const turns = byAnswer.all(tenant, id);
        if (turns[0]?.["known"] !== 1) return false;
        for (const { seq } of turns) drop(Number(seq));
        leases.drop(tenant, id);
        return true;
      }),
    deleteConversation: ({ tenant, id }) =>
      inTransaction(database, () => {
        const row = findConversation.get(tenant, id);
        if (row === undefined) return false;
        conversations.drop(Number(row["seq"]));
        for (const { seq } of keptFor.all(tenant, id)) drop(Number(seq));
        leases.drop(tenant, id);
        return true;
      }),
    sweep: ({ maxBytes, maxPlanBytes, ...bounds }) =>
      inTransaction(database, () => {
        leases.sweep();
        const { more: isOld, waits } = ages.drop(bounds, dropExpired);
        // Conversations may take up to half of what answers else have.
        const { bytes, more } = conversations.dropHeavy(maxBytes / 2);
        const steps = [
          isOld,
          more,
          dropHeavy("bytes", maxBytes - bytes),
          dropHeavy("plan_bytes", maxPlanBytes),
        ];
        return { more: steps.includes(true), waits };
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
  const unshare = textDropping(database);
  return {
    drop(seq) {
      segments.drop(seq);
      unshare("shared", seq);
      unshare("plan_shared", seq);
      dropParts.run(seq * PARTS, seq * PARTS + PARTS - 1);
      dropSeals.run(seq);
      dropTurn.run(seq);
    },
    dropHalf(column, seq) {
      const plan = seq * PARTS + PLAN_PLACE;
      if (column === "plan_bytes") {
        unshare("plan_shared", seq);
        dropParts.run(plan, plan);
      } else {
        segments.drop(seq);
        unshare("shared", seq);
        dropParts.run(plan + 1, seq * PARTS + PARTS - 1);
        dropSeals.run(seq);
      }
      empty[column].run(seq);
      dropEmpty.run(seq);
    },
  };
}

/** Has a turn let go of a text, which goes with the last turn that has it. */
function textDropping(
  database: DatabaseSync,
): (column: "shared" | "plan_shared", seq: number) => void {
  const prepare = (column: string) => ({
    find: database.prepare(`SELECT tenant, ${column} AS digest FROM turns WHERE seq = ?`),
    leave: database.prepare(`UPDATE turns SET ${column} = NULL WHERE seq = ?`),
  });
  const columns = { shared: prepare("shared"), plan_shared: prepare("plan_shared") };
  const drop = database.prepare(`DELETE FROM shared_texts WHERE tenant = ?1 AND digest = ?2
    AND NOT EXISTS (SELECT 1 FROM turns WHERE tenant = ?1 AND shared = ?2)
    AND NOT EXISTS (SELECT 1 FROM turns WHERE tenant = ?1 AND plan_shared = ?2)`);
  return (column, seq) => {
    const { find, leave } = columns[column];
    const { tenant = null, digest = null } = find.get(seq) ?? {};
    if (digest === null) return;
    leave.run(seq);
    drop.run(tenant, digest);
  };
}

const sumSql = (column: Column, table = "turns"): string =>
  `SELECT tenant, sum(${column}) AS held FROM ${table} GROUP BY tenant`;

/** The oldest turns of a tenant beyond its share. */
const oldestSql = (column: Column): string => `
SELECT seq FROM (
  SELECT seq, ${column} AS own, sum(${column}) OVER (ORDER BY seq DESC) AS newer
  FROM turns WHERE tenant = ?1
) WHERE newer > ?2 AND own > 0 ORDER BY seq LIMIT ${STEP}`;
