/** Turns and lists as rows of a database: plain values, which can be sent to a thread. */

import { hash } from "node:crypto";
import { append } from "../turn/append.ts";
import { Fault } from "../turn/fault.ts";
import { isStorableId, MAX_STORED_ID } from "../turn/item-ids.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { joinGroups } from "./item-groups.ts";
import type { Lease } from "./leases.ts";
import type {
  ConversationEntry,
  EntryKind,
  NewList,
  StoredItem,
  StoredTurn,
  UsageEntry,
} from "./log.ts";

/** The numbers of kinds in a database. An entry of kind 0 is found only by its items and notes. */
export const kindNumbers: Readonly<Record<EntryKind, number>> = { response: 1, list: 2, plan: 3 };

/** The places of the parts of an entry: its head, its items and its notes. */
export const HEAD = 0;
export const FIRST_ITEM = 1;
export const FIRST_NOTE = 2 ** 24;
export const LAST_ITEM = FIRST_NOTE - 1;

export type EntryRecord = {
  readonly tenant: Tenant;
  readonly kind: number;
  readonly id: string | null;
  /** The id of the response that it continues. */
  readonly parent: string | null;
  /** The id of the conversation whose deletion also deletes it, for a turn that is not stored as a response. */
  readonly keptFor: string | null;
  readonly origin: string | null;
  readonly shared: SharedRecord | null;
  /** The number of rows of items that came with the request; for a list, the most that it can have. */
  readonly inputRows: number;
  /** Bytes of the JSON of the items, which count toward the bound of a chain. */
  readonly itemBytes: number;
  /** Bytes of all parts, without the shared text. */
  readonly bytes: number;
  readonly parts: readonly PartRecord[];
};

export type PartRecord = {
  readonly place: number;
  readonly id: string | null;
  readonly json: string;
  readonly bytes: number;
};

/** A text that the entries of a tenant share; it is stored once. */
export type SharedRecord = { readonly digest: string; readonly text: string };

export type TurnRows = {
  readonly tenant: Tenant;
  readonly at: number;
  readonly entries: readonly EntryRecord[];
  readonly conversation: ConversationEntry | null;
  readonly lease: Lease | null;
  readonly usage: UsageEntry | undefined;
};

/** Turns that are written together. A repeated write of a batch changes nothing: the result of the first may be unknown. */
export type WriteBatch = { readonly id: string; readonly turns: readonly TurnRows[] };

const MAX_MODEL_LENGTH = 256;
/** Bytes of a row without its text: keys, index entries. */
const ROW_BYTES = 128;
const none: readonly StoredItem[] = [];

const storableText = (text: string): string =>
  text.slice(0, MAX_MODEL_LENGTH).toWellFormed().replaceAll("\0", "\u{FFFD}");

/** Returns the same object for the same text, so that a batch sends it to the thread once. */
const sharedRecord = memoizeByIdentity(({ text }: SharedText): SharedRecord => ({
  digest: hash("sha256", text, "base64url"),
  text,
}));

/** The rows of a turn. Throws a Fault for ids that a database cannot store. */
export function recordOf(turn: StoredTurn, maxPlanBytes: number): TurnRows {
  const { tenant, at, answerId, response, list, items, notes = none, usage } = turn;
  const { conversation = null, lease = null } = turn;
  const entries: EntryRecord[] = [];
  if (response !== undefined || items.length > 0 || notes.length > 0) entries.push(answerOf(turn));
  const plan = answerId === undefined ? undefined : planOf(turn, maxPlanBytes);
  if (plan !== undefined) entries.push(plan);
  if (list !== undefined && answerId !== undefined)
    entries.push(listRecord({ ...list, tenant, id: answerId }));
  checkIds([response?.previous, ...idsOf(conversation?.items ?? none)]);
  const stored = usage && { ...usage, model: storableText(usage.model) };
  return { tenant, at, entries, conversation, lease, usage: stored };
}

type EntryParts = Pick<EntryRecord, "tenant" | "kind"> &
  Partial<Omit<EntryRecord, "itemBytes" | "parts">> & {
    readonly head?: string | undefined;
    readonly items?: readonly Pick<StoredItem, "id" | "json">[];
    readonly notes?: readonly StoredItem[];
  };

function entryOf({ head = "", items = none, notes = none, bytes = 0, ...rest }: EntryParts) {
  const parts: PartRecord[] = head === "" ? [] : [partOf(HEAD, null, head)];
  const rows = partsFrom(FIRST_ITEM, items);
  append(parts, rows);
  append(parts, partsFrom(FIRST_NOTE, notes));
  checkIds([rest.id, ...parts.map((part) => part.id)]);
  const links = { id: null, parent: null, keptFor: null, origin: null, shared: null };
  const weight = Math.max(bytes, weightOf(parts));
  return { ...links, inputRows: 0, ...rest, itemBytes: sumOf(rows), bytes: weight, parts };
}

export const sumOf = (parts: readonly { readonly bytes: number }[]): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0);

const partOf = (place: number, id: string | null, json: string): PartRecord => ({
  place,
  id,
  json,
  bytes: Buffer.byteLength(json),
});

/** The parts of items, numbered from `first`. */
export const partsFrom = (
  first: number,
  items: readonly Pick<StoredItem, "id" | "json">[],
): PartRecord[] => items.map(({ id, json }, at) => partOf(first + at, id, json));

/** The bytes of parts with their rows. */
export const weightOf = (parts: readonly PartRecord[]): number =>
  sumOf(parts) + ROW_BYTES * parts.length;

function answerOf({ tenant, answerId, response, conversation, items, notes = none }: StoredTurn) {
  const own = { tenant, id: answerId ?? null, notes };
  if (response === undefined)
    return entryOf({ ...own, kind: 0, keptFor: conversation?.id ?? null, items });
  const input = joinGroups(response.input);
  const links = { parent: response.previous ?? null, origin: response.origin ?? null };
  const given = { inputRows: input.length, items: [...input, ...items] };
  if (answerId === undefined) return entryOf({ ...own, ...links, ...given, kind: 0 });
  const shared = response.shared === undefined ? null : sharedRecord(response.shared);
  const kind = kindNumbers.response;
  return entryOf({ ...own, ...links, ...given, kind, head: response.json, shared });
}

/** The plan of a turn; undefined if it alone exceeds the bound of plans. */
function planOf(turn: StoredTurn, maxBytes: number): EntryRecord | undefined {
  const { tenant, answerId: id = "", plan, response, conversation } = turn;
  if (plan === undefined || plan.bytes > maxBytes) return undefined;
  const keptFor = response === undefined ? (conversation?.id ?? null) : null;
  const parts = plan.parts?.();
  const own = { tenant, kind: kindNumbers.plan, id, keptFor };
  return parts === undefined
    ? entryOf({ ...own, head: plan.json(), bytes: plan.bytes + ROW_BYTES })
    : entryOf({ ...own, head: parts.head, shared: sharedRecord(parts.shared) });
}

export const listRecord = ({ tenant, id, json, items }: NewList): EntryRecord =>
  entryOf({ tenant, kind: kindNumbers.list, id, head: json, items, inputRows: LAST_ITEM });

const idsOf = (items: readonly StoredItem[]): readonly string[] => items.map(({ id }) => id);

export function checkIds(ids: readonly (string | null | undefined)[]): void {
  for (const id of ids)
    if (typeof id === "string" && !isStorableId(id))
      throw new Fault(
        "store.refused",
        `An id of this turn cannot be stored: it is longer than ${MAX_STORED_ID} characters, or contains NUL. Send other ids.`,
      );
}
