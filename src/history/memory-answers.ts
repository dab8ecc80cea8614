import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { packTurn, unpackHead, type PackedHead, type PackedItem } from "./packed-turn.ts";
import { SEGMENTS, TenantSegments } from "./segments.ts";
import { itemsTexts, TEXT } from "./chain-rows.ts";
import { pageOf } from "./memory-conversations.ts";
import type {
  FoundChain,
  FoundItems,
  FoundPage,
  PageQuery,
  ResponseHead,
  Retention,
  StoredItem,
  StoredResponse,
  StoredTurn,
  Weigh,
} from "./store.ts";
import { TextBlocks, type Place, type TextBlock } from "./text-blocks.ts";

/** What is kept of a turn's answer: where its text is, and what is needed to find others from it. */
type KeptTurn = Place & {
  readonly block: TextBlock;
  readonly id: string | undefined;
  readonly at: number;
  readonly shared: SharedText | undefined;
  readonly seals: readonly string[];
  /** Where its items begin and end in it; behind them is its head. */
  readonly items: number;
  readonly head: number;
  /** The JSON of its items, in bytes. */
  readonly itemBytes: number;
  /** Whether it continues another. */
  readonly continues: boolean;
  /** The turn that it continues: a chain of any depth is followed without looking for each. */
  parent: KeptTurn | undefined;
  /** It was dropped, deleted or replaced. What refers to it must not keep what it refers to itself. */
  isGone: boolean;
};

/** Turns by the ids of their answers and items, and seals. */
type Answers = {
  readonly block: TextBlock;
  readonly responses: Map<string, KeptTurn>;
  /** By the id of an item, or by its group, the turn that it is in. */
  readonly items: Map<string, KeptTurn>;
  /** Turns without a response, by the id of the answer or conversation that they are deleted with. */
  readonly others: Map<string, KeptTurn[]>;
  readonly seals: Map<string, string>;
};

/** What an entry takes beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;

/** The answers of past turns with their items, by tenant, as long as the process lives. */
export class MemoryAnswers {
  readonly #clock: Pick<Clock, "now">;
  readonly #retention: Retention;
  readonly #blocks: TextBlocks;
  readonly #kept: TenantSegments<Answers>;

  constructor(clock: Pick<Clock, "now">, retention: Retention) {
    this.#clock = clock;
    this.#retention = retention;
    this.#blocks = new TextBlocks(retention.maxBytes / SEGMENTS);
    this.#kept = new TenantSegments(
      retention,
      clock,
      () => ({
        block: this.#blocks.open(),
        responses: new Map(),
        items: new Map(),
        others: new Map(),
        seals: new Map(),
      }),
      ({ block, responses }) => {
        for (const kept of responses.values()) forget(kept);
        block.drop();
      },
    );
  }

  /** One segment takes it all, so that it is also dropped whole. */
  save(turn: StoredTurn): void {
    const { tenant, answerId: id, items, response, seals } = turn;
    if (items.length === 0 && seals.length === 0 && response === undefined) return;
    const input = response?.input ?? none;
    const length = lengthOf(input) + lengthOf(items) + (response?.json.length ?? 0);
    if (length > this.#retention.maxBytes) return;
    const packed = packTurn({ items, response }, this.#blocks);
    const entries = items.length + input.length + seals.length + Number(response !== undefined);
    const shared = response?.shared;
    const content = this.#kept.open(tenant, packed.bytes.length + entries * ENTRY_BYTES, shared);
    if (content === undefined) return;
    const { block } = content;
    const kept: KeptTurn = {
      block,
      start: block.add(packed.bytes),
      bytes: packed.bytes.length,
      items: packed.items,
      head: packed.head,
      itemBytes: packed.head - packed.items - Math.max(0, input.length + items.length - 1),
      id,
      at: this.#clock.now(),
      shared,
      seals: seals.map(({ seal }) => seal),
      continues: response?.previous !== undefined,
      parent: undefined,
      isGone: false,
    };
    for (const item of items) content.items.set(item.id, kept);
    for (const { seal, upstream } of seals) content.seals.set(seal, upstream);
    if (response === undefined) return addTo(content.others, turn.conversation?.id ?? id, kept);
    if (id === undefined) return;
    addInput(content.items, input, kept);
    const { previous } = response;
    if (previous !== undefined) kept.parent = this.#find(tenant, previous);
    const replaced = turn.isNewId === true ? undefined : this.#find(tenant, id);
    if (replaced !== undefined) forget(replaced);
    content.responses.set(id, kept);
  }

  findItems(tenant: Tenant, ids: readonly string[], maxBytes: number, weigh: Weigh): FoundItems {
    const found = new Map<string, { readonly kept: KeptTurn; readonly item: PackedItem }>();
    const known = new Map<KeptTurn, ReadonlyMap<string, PackedItem>>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const group = groupOf(id) ?? id;
      const kept = this.#kept.find(tenant, ({ items: turns }) => turns.get(id) ?? turns.get(group));
      if (kept === undefined || !this.#isFresh(kept)) continue;
      const all = known.get(kept) ?? itemsById(headOf(kept));
      known.set(kept, all);
      const item = all.get(id);
      if (item === undefined) continue;
      bytes += item.bytes;
      if (bytes > maxBytes) return { type: "too-large" };
      found.set(id, { kept, item });
    }
    weigh(bytes);
    const items = new Map<string, StoredItem>();
    for (const [id, { kept, item }] of found) items.set(id, itemOf(kept, item));
    return { type: "found", items };
  }

  findSealOwners(tenant: Tenant, seals: readonly string[]): ReadonlyMap<string, string> {
    const owners = new Map<string, string>();
    for (const seal of seals) {
      const owner = this.#kept.find(tenant, (content) => content.seals.get(seal));
      if (owner !== undefined) owners.set(seal, owner);
    }
    return owners;
  }

  findResponse(tenant: Tenant, id: string, weigh: Weigh): StoredResponse | undefined {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return undefined;
    const head = headOf(kept);
    const { shared } = kept;
    const bytes = head.items.reduce((sum, item) => sum + item.bytes, kept.items);
    weigh(bytes + (shared?.text.length ?? 0));
    const items = head.items.map((item) => itemOf(kept, item));
    return { ...responseOf(kept, head), items, ...(shared && { shared }) };
  }

  findHead(tenant: Tenant, id: string, weigh: Weigh): ResponseHead | undefined {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return undefined;
    weigh(kept.items);
    return responseOf(kept, headOf(kept));
  }

  findInput(tenant: Tenant, id: string, weigh: Weigh): readonly StoredItem[] {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return none;
    const { input } = headOf(kept);
    weigh(input.reduce((sum, item) => sum + item.bytes, 0));
    return input.map((item) => itemOf(kept, item));
  }

  loadChain(tenant: Tenant, id: string, maxBytes: number, weigh: Weigh): FoundChain {
    const found = this.#chainOf(tenant, id, maxBytes);
    if (found.type !== "found") return found;
    const { turns, own, bytes } = found;
    weigh(bytes + own.items);
    const texts = turns.flatMap(textsOf);
    return { type: "found", texts, bytes, last: responseOf(own, headOf(own)) };
  }

  listInput(tenant: Tenant, id: string, query: PageQuery, weigh: Weigh): FoundPage {
    const found = this.#chainOf(tenant, id, Infinity);
    if (found.type !== "found") return { type: "missing" };
    const { own } = found;
    return pageOf(
      found.turns.flatMap((turn) => {
        const { input, items } = headOf(turn);
        const all = turn === own ? input : [...input, ...items];
        return all.map(({ id: item, start, bytes }) => ({
          id: item,
          bytes,
          json: () => readPart(turn, start, bytes),
        }));
      }),
      query,
      weigh,
    );
  }

  /** A response with all that it continues, oldest first. */
  #chainOf(tenant: Tenant, id: string, maxBytes: number): Chain {
    const own = this.#find(tenant, id);
    if (own === undefined) return { type: "missing", id };
    const turns: KeptTurn[] = [];
    let bytes = 0;
    for (
      let next: KeptTurn | undefined = own;
      next !== undefined && (next === own || this.#isKept(next));
      next = next.parent
    ) {
      bytes += next.itemBytes;
      if (bytes > maxBytes) return { type: "too-large" };
      turns.push(next);
    }
    const last = turns.at(-1);
    const previous = last?.continues === true ? headOf(last).previous : undefined;
    if (previous !== undefined) return { type: "missing", id: previous };
    return { type: "found", own, turns: turns.toReversed(), bytes };
  }

  delete(tenant: Tenant, id: string): boolean {
    const found = this.#find(tenant, id);
    if (found === undefined) return false;
    const response = headOf(found);
    for (const content of this.#kept.contents(tenant)) {
      const kept = content.responses.get(id);
      if (kept !== undefined) forget(kept);
      content.responses.delete(id);
      for (const item of response.items) content.items.delete(item.id);
      for (const { id: item, group = item } of response.input) content.items.delete(group);
      for (const seal of found.seals) content.seals.delete(seal);
    }
    found.block.erase(found);
    this.deleteOthers(tenant, id);
    return true;
  }

  /** Deletes the turns without a response that are deleted with this answer or conversation. */
  deleteOthers(tenant: Tenant, id: string): void {
    for (const content of this.#kept.contents(tenant)) {
      for (const kept of content.others.get(id) ?? []) {
        for (const item of itemsById(headOf(kept)).keys())
          if (content.items.get(item) === kept) content.items.delete(item);
        for (const seal of kept.seals) content.seals.delete(seal);
        kept.block.erase(kept);
      }
      content.others.delete(id);
    }
  }

  #find(tenant: Tenant, id: string): KeptTurn | undefined {
    const found = this.#kept.find(tenant, (content) => content.responses.get(id));
    return found !== undefined && this.#isFresh(found) ? found : undefined;
  }

  #isKept(turn: KeptTurn): boolean {
    return !turn.isGone && this.#isFresh(turn);
  }

  #isFresh({ at }: KeptTurn): boolean {
    return this.#clock.now() - at <= this.#retention.maxAgeMs;
  }
}

const none: readonly StoredItem[] = [];

function lengthOf(items: readonly StoredItem[]): number {
  let length = 0;
  for (const { json } of items) length += json.length;
  return length;
}

/** One entry for all items of a group, which mostly are all of them. */
function addInput(
  turns: Map<string, KeptTurn>,
  input: readonly StoredItem[],
  kept: KeptTurn,
): void {
  let last: string | undefined;
  for (const { id, group = id } of input) {
    if (group !== last) turns.set(group, kept);
    last = group;
  }
}

type Chain =
  | Exclude<FoundChain, { readonly type: "found" }>
  | {
      readonly type: "found";
      readonly own: KeptTurn;
      readonly turns: readonly KeptTurn[];
      readonly bytes: number;
    };

const readPart = ({ block, start }: KeptTurn, from: number, bytes: number): string =>
  block.read({ start: start + from, bytes });

const headOf = (turn: KeptTurn): PackedHead =>
  unpackHead(readPart(turn, turn.head, turn.bytes - turn.head));

const itemOf = (turn: KeptTurn, { id, group, start, bytes }: PackedItem): StoredItem => ({
  id,
  json: readPart(turn, start, bytes),
  ...(group !== undefined && { group }),
});

/** Its items in texts that are parsed in a moment. */
function textsOf(turn: KeptTurn): readonly string[] {
  const isShort = turn.head - turn.items <= TEXT;
  if (isShort && turn.head === turn.items) return [];
  if (isShort) return [readPart(turn, turn.items, turn.head - turn.items)];
  const { input, items } = headOf(turn);
  return itemsTexts([...input, ...items].map((item) => itemOf(turn, item)));
}

const itemsById = ({ input, items }: PackedHead): ReadonlyMap<string, PackedItem> =>
  new Map([...input, ...items].map((item) => [item.id, item]));

function responseOf(
  turn: KeptTurn,
  { previous, origin, responseBytes = 0 }: PackedHead,
): ResponseHead {
  const { id = "" } = turn;
  const json = readPart(turn, 0, responseBytes);
  return { id, previous, json, ...(origin !== undefined && { origin }) };
}

function addTo(others: Answers["others"], id: string | undefined, kept: KeptTurn): void {
  if (id === undefined) return;
  const known = others.get(id) ?? [];
  others.set(id, known);
  known.push(kept);
}

function forget(kept: KeptTurn): void {
  kept.isGone = true;
  kept.parent = undefined;
}
