import type { DatabaseSync } from "node:sqlite";
import { conversationBytes, conversationItemsBytes } from "../conversation-bytes.ts";
import { KIND_LENGTH } from "../conversations.ts";
import type { ConversationOperations, FoundPlaces, RowSize } from "../database.ts";
import { fairShares } from "../fair-share.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { ConversationEntry, StoredItem } from "../store.ts";
import { rowTime } from "./ages.ts";
import type { HostClock } from "./connection.ts";
import { leaseCheck } from "./leases.ts";
import { inTransaction } from "./transaction.ts";

type Key = { readonly tenant: string; readonly id: string };

/** Conversations and secrets, with statements that are prepared once. */
export function sqliteConversations(
  database: DatabaseSync,
  clock: HostClock,
): Omit<ConversationOperations, "deleteConversation"> {
  const timeOf = rowTime(database, clock);
  const insert = database.prepare(
    "INSERT INTO conversations (tenant, id, at, json, bytes) VALUES (?, ?, ?, ?, ?)",
  );
  const find = database.prepare("SELECT seq FROM conversations WHERE tenant = ? AND id = ?");
  const size = database.prepare(
    "SELECT seq, octet_length(json) AS bytes FROM conversations WHERE tenant = ? AND id = ?",
  );
  const update = database.prepare("UPDATE conversations SET json = ? WHERE seq = ?");
  const { addItems, touch, ...parts } = itemStatements(database);
  const seqOf = ({ tenant, id }: Key): number | undefined => {
    const row = find.get(tenant, id);
    return row === undefined ? undefined : Number(row["seq"]);
  };
  /** Does something to a conversation, unless there is none. */
  const change = (key: Key, run: (seq: number) => boolean | void): boolean =>
    inTransaction(database, () => {
      const seq = seqOf(key);
      return seq !== undefined && run(seq) !== false;
    });

  return {
    createConversation: ({ tenant, id, json, items }) =>
      inTransaction(database, () => {
        const at = timeOf();
        const row = insert.run(tenant, id, at, json, conversationBytes(json));
        const seq = Number(row.lastInsertRowid);
        addItems(seq, items);
        touch.run(conversationItemsBytes(items), at, seq);
      }),
    findConversation({ adds, ...key }) {
      const row = size.get(key.tenant, key.id);
      if (row === undefined) return undefined;
      const items = adds === undefined ? undefined : parts.size.get(Number(row["seq"]));
      return { bytes: Number(row["bytes"]), itemBytes: Number(items?.["size"] ?? 0) };
    },
    updateConversation: ({ json, ...key }) => change(key, (seq) => void update.run(json, seq)),
    addConversationItems: ({ items, ...key }) =>
      change(key, (seq) => {
        addItems(seq, items);
        touch.run(conversationItemsBytes(items), timeOf(), seq);
      }),
    findConversationItem({ item, order, ...key }) {
      const seq = seqOf(key);
      return seq === undefined ? undefined : (parts[order].get(seq, item) as RowSize | undefined);
    },
    deleteConversationItem: ({ item, ...key }) =>
      change(key, (seq) => Number(parts.remove.run(seq, item).changes) > 0),
    listConversations: lister(database, seqOf),
    ...secrets(database),
  };
}

function lister(
  database: DatabaseSync,
  seqOf: (key: Key) => number | undefined,
): ConversationOperations["listConversations"] {
  const prepared = (bound: ">" | "<", order: "ASC" | "DESC") =>
    database.prepare(`SELECT id, octet_length(json) AS bytes FROM conversations
    WHERE tenant = ?1 AND substr(id, 1, ${KIND_LENGTH}) = substr(?2, 1, ${KIND_LENGTH}) AND seq ${bound} ?3
      AND substr(id, 1, length(?2)) = ?2 ORDER BY seq ${order}`);
  const rising = prepared(">", "ASC");
  const falling = prepared("<", "DESC");
  return ({ tenant, prefix, order, after, limit, maxBytes }): FoundPlaces => {
    const first = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
    const start = after === undefined ? first : seqOf({ tenant, id: after });
    if (start === undefined) return { type: "missing" };
    const list: { readonly id: string; readonly bytes: number }[] = [];
    let sum = 0;
    // Read row by row: what is behind the last is never looked at.
    for (const row of (order === "asc" ? rising : falling).iterate(tenant, prefix, start)) {
      if (list.length === limit || sum >= maxBytes) return { type: "found", list, isWhole: false };
      const bytes = Number(row["bytes"]);
      sum += bytes;
      list.push({ id: String(row["id"]), bytes });
    }
    return { type: "found", list, isWhole: true };
  };
}

/** Adds the items of a turn to its conversation, in the transaction of the turn; false if that was deleted. */
export function conversationWriting(
  database: DatabaseSync,
): (tenant: Tenant, entry: ConversationEntry, at: number) => boolean {
  const find = database.prepare("SELECT seq FROM conversations WHERE tenant = ? AND id = ?");
  const { addItems, touch } = itemStatements(database);
  const checkLease = leaseCheck(database);
  return (tenant, { id, owner, items }, at) => {
    const row = find.get(tenant, id);
    if (row === undefined) return false;
    checkLease(tenant, { id, owner });
    const seq = Number(row["seq"]);
    addItems(seq, items);
    touch.run(conversationItemsBytes(items), at, seq);
    return true;
  };
}

function secrets(database: DatabaseSync): Pick<ConversationOperations, "secret"> {
  const insert = database.prepare("INSERT OR IGNORE INTO secrets VALUES (?, ?)");
  const find = database.prepare("SELECT value FROM secrets WHERE name = ?");
  return {
    secret({ name, made }) {
      insert.run(name, made);
      return String(find.get(name)?.["value"]);
    },
  };
}

const itemPlace = (order: "ASC" | "DESC"): string =>
  `SELECT seq AS place, bytes FROM conversation_items WHERE conversation = ? AND id = ? ORDER BY seq ${order} LIMIT 1`;

function itemStatements(database: DatabaseSync) {
  const insertItem = database.prepare(
    "INSERT INTO conversation_items (conversation, id, bytes, json) VALUES (?, ?, ?, ?)",
  );
  return {
    addItems: (seq: number, items: readonly StoredItem[]): void => {
      for (const { id, json } of items) insertItem.run(seq, id, Buffer.byteLength(json), json);
    },
    touch: database.prepare(
      "UPDATE conversations SET bytes = bytes + ?1, at = max(at, ?2) WHERE seq = ?3",
    ),
    size: database.prepare(
      "SELECT sum(bytes) AS size FROM conversation_items WHERE conversation = ?",
    ),
    asc: database.prepare(itemPlace("ASC")),
    desc: database.prepare(itemPlace("DESC")),
    remove: database.prepare("DELETE FROM conversation_items WHERE conversation = ? AND id = ?"),
  };
}

/** How many are dropped in one transaction. */
const STEP = 100;

export function conversationDropping(database: DatabaseSync) {
  const dropItems = database.prepare("DELETE FROM conversation_items WHERE conversation = ?");
  const dropOne = database.prepare("DELETE FROM conversations WHERE seq = ?");
  const expired = database.prepare(`SELECT seq FROM conversations WHERE at < ? LIMIT ${STEP}`);
  const sums = database.prepare(
    "SELECT tenant, sum(bytes) AS held FROM conversations GROUP BY tenant",
  );
  const oldest = database.prepare(`
SELECT seq FROM (
  SELECT seq, at, sum(bytes) OVER (ORDER BY at DESC, seq DESC) AS newer FROM conversations WHERE tenant = ?1
) WHERE newer > ?2 ORDER BY at, seq LIMIT ${STEP}`);
  const drop = (seq: number): void => {
    dropItems.run(seq);
    dropOne.run(seq);
  };
  return {
    drop,
    /** Drops some of what is too old; whether there is more. */
    dropExpired: (since: number): boolean => {
      const old = expired.all(since);
      for (const { seq } of old) drop(Number(seq));
      return old.length === STEP;
    },
    /** Drops some of what is too much: how much is left, and whether there is more to drop. */
    dropHeavy: (maxBytes: number): { readonly bytes: number; readonly more: boolean } => {
      let more = false;
      for (const [tenant, share] of fairShares(heldBy(sums.all()), maxBytes)) {
        const seqs = oldest.all(tenant, share);
        for (const { seq } of seqs) drop(Number(seq));
        more ||= seqs.length === STEP;
      }
      const left = [...heldBy(sums.all()).values()];
      return { bytes: left.reduce((sum, held) => sum + held, 0), more };
    },
  };
}

export const heldBy = (rows: readonly Record<string, unknown>[]): Map<string, number> =>
  new Map(rows.map((row) => [String(row["tenant"]), Number(row["held"])]));
