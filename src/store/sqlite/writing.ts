import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { FIRST_ITEM_PLACE, PLAN_PLACE, RESPONSE_PLACE } from "../chain-rows.ts";
import type { Operations } from "../database.ts";
import { hasRows, type TurnRecord } from "../record.ts";
import { batchUsage, MODELS_KEPT, OTHER, usageCounts } from "../usage-sums.ts";

/** The parts of turn 3 are numbered from 3 * 2^20; numbers are exact up to turn 2^33. */
export const PARTS = 2 ** 20;

type Writing = Pick<Operations, "write"> & {
  /** Runs all of it in one transaction. */
  inTransaction<Result>(run: () => Result): Result;
};

/** Writes batches of turns, with statements that are prepared once. */
export function sqliteWriting(database: DatabaseSync): Writing {
  const insertTurn = database.prepare(
    `INSERT INTO turns (tenant, at, answer_id, previous, stored, inputs, item_bytes, bytes, plan_bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertPart = database.prepare(
    "INSERT INTO parts (part, tenant, id, bytes, json) VALUES (?, ?, ?, ?, ?)",
  );
  const insertSeal = database.prepare("INSERT OR REPLACE INTO seals VALUES (?, ?, ?, ?)");
  const addUsage = database.prepare(usageSql());

  function writeTurn(turn: TurnRecord): void {
    const { tenant, answerId, response, plan, items } = turn;
    const sizes = [turn.inputs, turn.itemBytes, turn.bytes, turn.planBytes];
    const stored = Number(response !== null);
    const { lastInsertRowid } = insertTurn.run(
      ...[tenant, turn.at, answerId, turn.previous, stored, ...sizes],
    );
    const seq = Number(lastInsertRowid);
    const first = seq * PARTS;
    if (plan !== null) insertPart.run(first + PLAN_PLACE, null, null, plan.length, plan);
    if (response !== null)
      insertPart.run(first + RESPONSE_PLACE, null, null, response.length, response);
    let part = first + FIRST_ITEM_PLACE;
    for (const { id, json } of items)
      insertPart.run(part++, tenant, id, Buffer.byteLength(json), json);
    for (const [seal, upstream] of turn.seals) insertSeal.run(tenant, seal, seq, upstream);
  }

  function inTransaction<Result>(run: () => Result): Result {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = run();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      // Some errors, a full disk among them, have rolled it back already.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  return {
    inTransaction,
    // A commit either returns or is rolled back, so no batch comes twice.
    write: ({ turns }) =>
      inTransaction(() => {
        for (const turn of turns) if (hasRows(turn)) writeTurn(turn);
        for (const { tenant, hour, model, sum } of batchUsage(turns)) {
          const counts: SQLInputValue[] = usageCounts.map((name) => sum[name]);
          addUsage.run(tenant, hour, model, ...counts);
        }
      }),
  };
}

const usageSql = (): string => `
INSERT INTO usage (tenant, hour, model, ${usageCounts.join(", ")})
VALUES (
  ?1, ?2,
  CASE
    WHEN EXISTS (SELECT 1 FROM usage WHERE tenant = ?1 AND hour = ?2 AND model = ?3) THEN ?3
    WHEN (SELECT count(*) FROM usage WHERE tenant = ?1 AND hour = ?2) < ${MODELS_KEPT} THEN ?3
    ELSE '${OTHER}'
  END,
  ${usageCounts.map((_, at) => `?${at + 4}`).join(", ")}
)
ON CONFLICT (tenant, hour, model) DO UPDATE SET
  ${usageCounts.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
