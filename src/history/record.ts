import { hash } from "node:crypto";
import { Fault } from "../turn/fault.ts";
import { isStorableId, MAX_STORED_ID } from "../turn/item-ids.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { joinGroups } from "./item-groups.ts";
import type { Lease } from "./leases.ts";
import type { ConversationEntry, StoredItem, StoredTurn, UsageEntry } from "./store.ts";

/** What a turn leaves behind, as the rows of a database: texts and numbers, and nothing that has to be called. */
export type TurnRecord = {
  readonly tenant: Tenant;
  readonly at: number;
  readonly answerId: string | null;
  readonly previous: string | null;
  readonly origin: string | null;
  /** The response without its items, as JSON; null where it cannot be retrieved. */
  readonly response: string | null;
  readonly shared: SharedRecord | null;
  /** Input and answer, in this order; some of these rows are several items. */
  readonly items: readonly StoredItem[];
  /** How many of the items are input, and how many of the rows. */
  readonly inputs: number;
  readonly inputRows: number;
  /** The JSON of the items, in bytes: what loading a chain is bounded by. */
  readonly itemBytes: number;
  /** All that is kept but the plan. */
  readonly bytes: number;
  /** As JSON; where `planShared` is given, without that and the closing brace behind it. */
  readonly plan: string | null;
  readonly planShared: SharedRecord | null;
  readonly planBytes: number;
  /** Pairs of seal and upstream. */
  readonly seals: readonly (readonly [string, string])[];
  readonly conversation: ConversationEntry | null;
  /** Id of the conversation that these rows are deleted with: that of a turn which is not stored by itself. */
  readonly keptFor: string | null;
  readonly lease: Lease | null;
  readonly usage: UsageEntry | undefined;
};

/** A text that is stored once for all turns of a tenant that have it. */
export type SharedRecord = { readonly digest: string; readonly text: string };

/** Parts of a turn are numbered in 20 bits, the first two of which are its plan and its response. */
const MAX_ITEMS = 2 ** 20 - 2;
const MAX_MODEL_LENGTH = 256;
/** What a row takes beside its text: keys, index entries. */
const ROW_BYTES = 128;

const storableText = (text: string): string =>
  text.slice(0, MAX_MODEL_LENGTH).toWellFormed().replaceAll("\0", "\u{FFFD}");

/** The same object for the same text: a batch then takes it to another thread once. */
const sharedRecord = memoizeByIdentity(({ text }: SharedText): SharedRecord => ({
  digest: hash("sha256", text, "base64url"),
  text,
}));

/** The rows of a turn. Throws a Fault where a database could not take them. */
export function recordOf(turn: StoredTurn, maxPlanBytes: number): TurnRecord {
  const { tenant, at, answerId = null, response, seals, conversation, usage } = turn;
  const input = response?.input ?? [];
  const items = input.length === 0 ? turn.items : [...input, ...turn.items];
  check(turn, conversation === undefined ? items : [...items, ...conversation.items]);
  const inputRows = joinGroups(input);
  const itemRows = input.length === 0 ? turn.items : [...inputRows, ...turn.items];
  let itemBytes = 0;
  for (const { json } of itemRows) itemBytes += Buffer.byteLength(json);
  const rows = itemRows.length + seals.length + Number(response !== undefined);
  const bytes = itemBytes + ROW_BYTES * rows + Buffer.byteLength(response?.json ?? "");
  const plan = answerId === null ? undefined : planOf(turn, maxPlanBytes);
  return {
    tenant,
    at,
    answerId,
    previous: response?.previous ?? null,
    origin: response?.origin ?? null,
    response: (answerId !== null && response?.json) || null,
    shared:
      answerId === null || response?.shared === undefined ? null : sharedRecord(response.shared),
    items: itemRows,
    inputs: input.length,
    inputRows: inputRows.length,
    itemBytes,
    bytes,
    plan: plan?.json ?? null,
    planShared: plan?.shared ?? null,
    planBytes: plan?.bytes ?? 0,
    seals: seals.map(({ seal, upstream }) => [seal, upstream]),
    conversation: conversation ?? null,
    keptFor: response === undefined ? (conversation?.id ?? null) : null,
    lease: turn.lease ?? null,
    usage: usage && { ...usage, model: storableText(usage.model) },
  };
}

/** The rows of a turn's thoughts; undefined if it has none. */
export function thoughtsRecord(turn: StoredTurn): TurnRecord | undefined {
  const { tenant, at, answerId, lease, thoughts: items = [] } = turn;
  if (items.length === 0) return undefined;
  const keptFor = turn.response === undefined ? (turn.conversation?.id ?? null) : null;
  return { ...recordOf({ tenant, at, answerId, lease, items, seals: [] }, 0), keptFor };
}

type PlanText = {
  readonly json: string;
  readonly shared?: SharedRecord;
  readonly bytes: number;
};

/** The plan as text, unless it is too heavy to be kept at all. */
function planOf({ plan }: StoredTurn, maxBytes: number): PlanText | undefined {
  if (plan === undefined || plan.bytes > maxBytes) return undefined;
  const parts = plan.parts?.();
  if (parts !== undefined) {
    const { head: json, shared } = parts;
    return { json, shared: sharedRecord(shared), bytes: json.length + ROW_BYTES };
  }
  const json = plan.json();
  return { json, bytes: Math.max(plan.bytes, json.length) + ROW_BYTES };
}

function check({ answerId, response, seals }: StoredTurn, items: readonly StoredItem[]): void {
  if (items.length > MAX_ITEMS)
    throw new Fault("store.refused", `A turn can have ${MAX_ITEMS} items, and this has more.`);
  const ids = [answerId, response?.previous, ...seals.map(({ seal }) => seal)];
  const isWrong = (id: string | undefined): boolean => id !== undefined && !isStorableId(id);
  if (ids.some(isWrong) || items.some(({ id }) => !isStorableId(id)))
    throw new Fault(
      "store.refused",
      `An id can have ${MAX_STORED_ID} characters, none of them NUL, and one of this turn's is none such.`,
    );
}

/** Whether anything but its usage is kept of a turn. */
export const hasRows = ({ items, response, plan, seals }: TurnRecord): boolean =>
  items.length > 0 || response !== null || plan !== null || seals.length > 0;

/** What the turns of a batch share with others, each text once for every tenant that has it. */
export function sharedTexts(
  turns: readonly TurnRecord[],
): Iterable<SharedRecord & { readonly tenant: Tenant }> {
  const texts = new Map<string, SharedRecord & { readonly tenant: Tenant }>();
  for (const { tenant, shared, planShared } of turns)
    for (const one of [shared, planShared])
      if (one !== null) texts.set(`${one.digest} ${tenant}`, { ...one, tenant });
  return texts.values();
}
