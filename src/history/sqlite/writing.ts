import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { FIRST_ITEM_PLACE, PLAN_PLACE, RESPONSE_PLACE } from "../chain-rows.ts";
import type { Operations } from "../database.ts";
import { rowTime } from "./ages.ts";
import type { HostClock } from "./connection.ts";
import { hasRows, sharedTexts, type TurnRecord } from "../record.ts";
import { conversationWriting } from "./conversations.ts";
import { leaseCheck } from "./leases.ts";
import { PARTS, SqliteSegments } from "./segments.ts";
import { inTransaction } from "./transaction.ts";
import { batchUsage, MODELS_KEPT, OTHER, usageColumn, usageCounts } from "../usage-sums.ts";

/** Writes batches of turns, with statements that are prepared once. */
export function sqliteWriting(database: DatabaseSync, clock: HostClock): Pick<Operations, "write"> {
  const timeOf = rowTime(database, clock);
  const insertTurn = database.prepare(
    `INSERT INTO turns (tenant, at, answer_id, previous, stored, inputs, item_bytes, bytes, plan_bytes, origin, tail, shared, plan_shared, kept_for, input_rows)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertPart = database.prepare(
    "INSERT INTO parts (part, tenant, id, bytes, json) VALUES (?, ?, ?, ?, ?)",
  );
  const insertSeal = database.prepare("INSERT OR REPLACE INTO seals VALUES (?, ?, ?, ?)");
  const insertShared = database.prepare("INSERT OR IGNORE INTO shared_texts VALUES (?, ?, ?, ?)");
  const findShared = database.prepare("SELECT 1 FROM shared_texts WHERE tenant = ? AND digest = ?");
  const segments = new SqliteSegments(database);
  const addUsage = database.prepare(usageSql());
  const addToConversation = conversationWriting(database);
  const checkLease = leaseCheck(database);

  function writeTurn(turn: TurnRecord, at: number): void {
    const { tenant, answerId, response, plan, items } = turn;
    const sizes = [turn.inputs, turn.itemBytes, turn.bytes, turn.planBytes];
    const stored = Number(response !== null);
    const head = [tenant, at, answerId, turn.previous, stored];
    const tail = stored === 1 ? segments.tailBehind(tenant, turn.previous, turn.itemBytes) : 0;
    const shared = [turn.shared?.digest ?? null, turn.planShared?.digest ?? null];
    const last = [turn.keptFor, turn.inputRows];
    const row = insertTurn.run(...head, ...sizes, turn.origin, tail, ...shared, ...last);
    const seq = Number(row.lastInsertRowid);
    const first = seq * PARTS;
    if (plan !== null) insertPart.run(first + PLAN_PLACE, null, null, plan.length, plan);
    if (response !== null)
      insertPart.run(first + RESPONSE_PLACE, null, null, response.length, response);
    let part = first + FIRST_ITEM_PLACE;
    for (const { id, json } of items)
      insertPart.run(part++, tenant, id, Buffer.byteLength(json), json);
    for (const [seal, upstream] of turn.seals) insertSeal.run(tenant, seal, seq, upstream);
    segments.added(tenant, seq, tail);
  }

  return {
    // A commit either returns or is rolled back, so no batch comes twice.
    write: ({ turns }) =>
      inTransaction(database, () => {
        const texts = [...sharedTexts(turns)];
        const isThere = ({ tenant, digest, text }: (typeof texts)[number]): boolean =>
          text !== "" || findShared.get(tenant, digest) !== undefined;
        if (!texts.every(isThere)) return false;
        const at = timeOf();
        for (const turn of turns) {
          if (turn.lease !== null) checkLease(turn.tenant, turn.lease);
          const { tenant, conversation, keptFor } = turn;
          const isGone = conversation !== null && !addToConversation(tenant, conversation, at);
          if (hasRows(turn) && !(isGone && keptFor !== null)) writeTurn(turn, at);
        }
        for (const { tenant, digest, text } of texts)
          if (text !== "") insertShared.run(tenant, digest, Buffer.byteLength(text), text);
        for (const { tenant, hour, model, sum } of batchUsage(turns)) {
          const counts: SQLInputValue[] = usageCounts.map((name) => sum[name]);
          addUsage.run(tenant, hour, model, ...counts);
        }
        return true;
      }),
  };
}

const columns = usageCounts.map(usageColumn);

const usageSql = (): string => `
INSERT INTO usage (tenant, hour, model, ${columns.join(", ")})
VALUES (
  ?1, ?2,
  CASE
    WHEN EXISTS (SELECT 1 FROM usage WHERE tenant = ?1 AND hour = ?2 AND model = ?3) THEN ?3
    WHEN (SELECT count(*) FROM usage WHERE tenant = ?1 AND hour = ?2) < ${MODELS_KEPT} THEN ?3
    ELSE '${OTHER}'
  END,
  ${columns.map((_, at) => `?${at + 4}`).join(", ")}
)
ON CONFLICT (tenant, hour, model) DO UPDATE SET
  ${columns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
