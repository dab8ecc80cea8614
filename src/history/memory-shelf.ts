/** The entries of a log in memory: their texts in blocks of bytes, and the bound on their bytes. */

import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { utf8Length } from "../turn/utf8-length.ts";
import type { EntryKind, StoredItem, StoredPlan } from "./log.ts";

/** `rest`: an entry that is found only by its items and notes. */
export type MemoryKind = EntryKind | "rest";

/** The content of an entry, which is kept as text. */
export type EntryContent = {
  readonly json: string;
  readonly origin: string | undefined;
  readonly input: readonly StoredItem[];
  readonly items: readonly StoredItem[];
  readonly notes: readonly StoredItem[];
};

/** Bytes of an entry or an item beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;
const none: readonly StoredItem[] = [];
const noNames: readonly string[] = [];
const nothing = { json: "", origin: undefined, input: none, items: none, notes: none };

/** A new entry: its content, and what a log knows of it without that. */
export type NewEntry = Pick<MemoryEntry, "tenant" | "kind" | "id" | "owner"> &
  Partial<Pick<MemoryEntry, "plan" | "shared" | "previous"> & EntryContent>;

export class MemoryEntry {
  readonly tenant: Tenant;
  readonly kind: MemoryKind;
  readonly id: string | undefined;
  /** The id of the entry whose deletion also deletes this one. */
  readonly owner: string | undefined;
  readonly plan: StoredPlan | undefined;
  readonly shared: SharedText | undefined;
  readonly previous: string | undefined;
  /** The keys of its items and of its notes in the maps of the log. */
  names: readonly string[] = noNames;
  noteNames: readonly string[] = noNames;
  /** The number of names in those maps that find it; an id is one of them. */
  uses = 0;
  /** Its number in the order of creation. */
  readonly order: number;
  /** Time of the last write to it. */
  at = 0;
  /** The bytes that it counts as. */
  bytes = 0;
  /** The block that holds it; undefined once it was removed. */
  block: Block | undefined;
  /** Its content as text, until its block is packed. */
  text: string | undefined;
  /** False if its text has a lone surrogate, which UTF-8 cannot have. */
  isPackable = false;
  /** The place of its text in the bytes of its block. */
  start = 0;
  end = 0;

  constructor({ tenant, kind, id, owner, plan, shared, previous }: NewEntry, order: number) {
    this.tenant = tenant;
    this.kind = kind;
    this.id = id;
    this.owner = owner;
    this.plan = plan;
    this.shared = shared;
    this.previous = previous;
    this.order = order;
  }

  /** Sets its content; the entry must not be on a shelf. */
  write(given: Partial<EntryContent>, now: number): void {
    const { json = "", origin, input = none, items = none, notes = none } = given;
    this.at = now;
    // A character has up to two bytes.
    this.bytes = ENTRY_BYTES + 2 * json.length + (this.plan?.bytes ?? 0);
    for (const list of [input, items, notes])
      for (const item of list) this.bytes += 2 * (item.id.length + item.json.length) + ENTRY_BYTES;
    const text = textOf({ json, origin, input, items, notes });
    // It also joins the pieces of the text, which else would hold on to the request they came with.
    this.isPackable = text !== "" && text.isWellFormed();
    this.text = text;
  }

  read(): EntryContent {
    const text = this.text ?? this.block?.textOf(this) ?? "";
    return text === "" ? nothing : contentOf(text);
  }
}

/** The lengths of all parts in one line, and then the parts. */
function textOf({ json, origin, input, items, notes }: EntryContent): string {
  if (json === "" && origin === undefined && input.length + items.length + notes.length === 0)
    return "";
  let lengths = `${json.length},${origin?.length ?? -1},${input.length},${items.length}`;
  let body = json + (origin ?? "");
  for (const list of [input, items, notes])
    for (const { id, json } of list) {
      lengths += `,${id.length},${json.length}`;
      body += id + json;
    }
  return `${lengths}\n${body}`;
}

function contentOf(text: string): EntryContent {
  let at = text.indexOf("\n");
  const lengths = text.slice(0, at++).split(",").map(Number);
  let next = 0;
  const length = (): number => lengths[next++] ?? 0;
  const part = (chars: number): string => text.slice(at, (at += chars));
  const [jsonLength, originLength, inputs, answered] = [length(), length(), length(), length()];
  const list = (count: number): StoredItem[] =>
    Array.from({ length: count }, () => ({ id: part(length()), json: part(length()) }));
  const json = part(jsonLength);
  const origin = originLength < 0 ? undefined : part(originLength);
  const input = list(inputs);
  const items = list(answered);
  return { json, origin, input, items, notes: list((lengths.length - next) / 2) };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Entries of one tenant that were written after each other. */
class Block {
  /** In the order in which they were written. */
  readonly entries = new Set<MemoryEntry>();
  /** The bytes of its entries. */
  bytes = 0;
  /** The same when it was packed; 0 before. */
  packedBytes = 0;
  #packed: Uint8Array | undefined;

  /** Moves the texts of the entries that it still has to one place outside the heap. */
  pack(): void {
    const moved = [...this.entries].filter(({ isPackable }) => isPackable);
    const texts = moved.map((entry) => entry.text ?? this.textOf(entry));
    const all = texts.join("");
    const packed = encoder.encode(all);
    let end = 0;
    for (const [at, entry] of moved.entries()) {
      const text = texts[at] ?? "";
      entry.start = end;
      end += packed.length === all.length ? text.length : utf8Length(text);
      entry.end = end;
      entry.text = undefined;
    }
    this.#packed = packed;
    this.packedBytes = this.bytes;
  }

  textOf({ start, end }: MemoryEntry): string {
    return this.#packed === undefined ? "" : decoder.decode(this.#packed.subarray(start, end));
  }
}

/** The entries of one tenant on a shelf, the last written at the end. */
type Share = {
  bytes: number;
  readonly blocks: Block[];
  /** The number of entries with a text, which is counted once. */
  readonly shared: Map<SharedText, number>;
};

/** A full shelf is emptied to this share of its size, so that few writes have to empty it. */
const LEFT = 63 / 64;
/** Blocks of a full shelf with one tenant. */
const BLOCKS = 128;

/**
 * Entries with a bound of bytes. The tenant with the most bytes loses its oldest entries first,
 * so that no tenant displaces the entries of another.
 */
export class MemoryShelf {
  readonly #maxBytes: number;
  readonly #shares = new Map<Tenant, Share>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns false for an entry that alone is too heavy. */
  add(entry: MemoryEntry): boolean {
    const { tenant, shared, bytes } = entry;
    if (bytes + 2 * (shared?.text.length ?? 0) > this.#maxBytes) return false;
    let share = this.#shares.get(tenant);
    if (share === undefined) {
      share = { bytes: 0, blocks: [], shared: new Map() };
      this.#shares.set(tenant, share);
    }
    let block = share.blocks.at(-1);
    const full = this.#maxBytes / BLOCKS;
    if (block === undefined || block.bytes >= full) share.blocks.push((block = new Block()));
    block.entries.add(entry);
    block.bytes += bytes;
    entry.block = block;
    if (block.bytes >= full) block.pack();
    this.#count(share, entry, 1);
    return true;
  }

  remove(entry: MemoryEntry): void {
    const { block } = entry;
    const share = this.#shares.get(entry.tenant);
    if (block === undefined || share === undefined) return;
    entry.block = undefined;
    block.entries.delete(entry);
    block.bytes -= entry.bytes;
    if (2 * block.bytes < block.packedBytes) block.pack();
    if (block.bytes === 0) share.blocks.splice(share.blocks.indexOf(block), 1);
    this.#count(share, entry, -1);
    if (share.blocks.length === 0) this.#shares.delete(entry.tenant);
  }

  /** The entries of a tenant; they may be removed meanwhile. */
  *entriesOf(tenant: Tenant): Iterable<MemoryEntry> {
    for (const block of this.#shares.get(tenant)?.blocks.slice() ?? []) yield* block.entries;
  }

  #count(share: Share, { shared, bytes }: MemoryEntry, sign: 1 | -1): void {
    let change = bytes;
    if (shared !== undefined) {
      const times = (share.shared.get(shared) ?? 0) + sign;
      if (times === 0) share.shared.delete(shared);
      else share.shared.set(shared, times);
      // The first entry with the text adds its bytes, and the last one removes them.
      if (times === (sign === 1 ? 1 : 0)) change += 2 * shared.text.length;
    }
    share.bytes += sign * change;
    this.#bytes += sign * change;
  }

  /** Removes entries until the shelf is not too full: `remove` is called for each. */
  empty(remove: (entry: MemoryEntry) => void): void {
    if (this.#bytes <= this.#maxBytes) return;
    const isEnough = (): boolean => this.#bytes <= this.#maxBytes * LEFT;
    while (!isEnough()) {
      const [heaviest, next] = [...this.#shares.values()].toSorted((a, b) => b.bytes - a.bytes);
      const least = next?.bytes ?? 0;
      const [block] = heaviest?.blocks ?? [];
      if (block === undefined) return;
      for (const entry of block.entries) {
        remove(entry);
        if (isEnough() || (heaviest?.bytes ?? 0) < least) break;
      }
    }
  }

  /** Calls `remove` for the entries that were last written before a moment. */
  expire(before: number, remove: (entry: MemoryEntry) => void): void {
    for (const tenant of this.#shares.keys())
      for (const entry of this.entriesOf(tenant)) if (entry.at < before) remove(entry);
  }
}
