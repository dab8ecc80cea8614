import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { itemsIn, packTurn, unpackTurn } from "./packed-turn.ts";
import { SEGMENTS, TenantSegments } from "./segments.ts";
import type {
  FoundChain,
  FoundItem,
  FoundItems,
  Retention,
  StoredItem,
  StoredResponse,
  StoredTurn,
} from "./store.ts";
import { TextBlocks, type Place, type TextBlock } from "./text-blocks.ts";

/** What is kept of a turn's answer: where its text is, and what is needed to find others from it. */
type KeptTurn = Place & {
  readonly block: TextBlock;
  readonly id: string | undefined;
  readonly at: number;
  readonly shared: SharedText | undefined;
  readonly seals: readonly string[];
  /** The JSON of its items, input and answer, in characters. */
  readonly length: number;
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
    const length = lengthOf(input) + lengthOf(items);
    if (length + (response?.json.length ?? 0) > this.#retention.maxBytes) return;
    const text = this.#blocks.encode(packTurn({ items, response }));
    const entries = items.length + input.length + seals.length + Number(response !== undefined);
    const shared = response?.shared;
    const content = this.#kept.open(tenant, text.length + entries * ENTRY_BYTES, shared);
    if (content === undefined) return;
    const { block } = content;
    const kept: KeptTurn = {
      block,
      start: block.add(text),
      bytes: text.length,
      id,
      at: this.#clock.now(),
      shared,
      seals: seals.map(({ seal }) => seal),
      length,
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

  findItems(tenant: Tenant, ids: readonly string[], maxBytes: number): FoundItems {
    const items = new Map<string, FoundItem>();
    const read = unpackOnce();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const group = groupOf(id) ?? id;
      const kept = this.#kept.find(tenant, ({ items: turns }) => turns.get(id) ?? turns.get(group));
      const item = kept === undefined || !this.#isFresh(kept) ? undefined : read(kept).get(id);
      if (item === undefined) continue;
      bytes += item.json.length;
      if (bytes > maxBytes) return { type: "too-large" };
      items.set(id, item);
    }
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

  findResponse(tenant: Tenant, id: string): StoredResponse | undefined {
    const found = this.#find(tenant, id);
    return found === undefined ? undefined : responseOf(found);
  }

  loadChain(tenant: Tenant, id: string, maxBytes: number): FoundChain {
    const asked = this.#find(tenant, id);
    if (asked === undefined) return { type: "missing", id };
    const earlier: KeptTurn[] = [];
    let bytes = asked.length;
    let last = asked;
    for (let next = asked.parent; next !== undefined && this.#isKept(next); next = next.parent) {
      bytes += next.length;
      if (bytes > maxBytes) break;
      earlier.push(next);
      last = next;
    }
    if (bytes > maxBytes) return { type: "too-large" };
    const previous = last.continues ? responseOf(last).previous : undefined;
    if (previous !== undefined) return { type: "missing", id: previous };
    return { type: "found", before: textOf(earlier), last: responseOf(asked) };
  }

  delete(tenant: Tenant, id: string): boolean {
    const found = this.#find(tenant, id);
    if (found === undefined) return false;
    const response = responseOf(found);
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
        for (const item of itemsOf(kept).keys())
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

/** Reads the items of turns by their ids, each turn once. */
function unpackOnce(): (turn: KeptTurn) => ReadonlyMap<string, FoundItem> {
  const known = new Map<KeptTurn, ReadonlyMap<string, FoundItem>>();
  return (turn) => {
    let items = known.get(turn);
    if (items === undefined) known.set(turn, (items = itemsOf(turn)));
    return items;
  };
}

function itemsOf(turn: KeptTurn): ReadonlyMap<string, FoundItem> {
  const { items, response } = unpackTurn(turn.block.read(turn));
  const origin = response?.origin;
  const found = new Map<string, FoundItem>();
  for (const item of [...(response?.input ?? none), ...items])
    found.set(item.id, { ...item, ...(origin !== undefined && { origin }) });
  return found;
}

function responseOf(turn: KeptTurn): StoredResponse {
  const { id = "", shared } = turn;
  const { items, response } = unpackTurn(turn.block.read(turn));
  return { input: none, json: "", ...response, ...(shared && { shared }), id, items };
}

/** The items of turns that are given newest first. */
function textOf(turns: readonly KeptTurn[]): string {
  const texts: string[] = [];
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at];
    const text = turn === undefined ? "" : itemsIn(turn.block.read(turn));
    if (text !== "") texts.push(text);
  }
  return texts.join(",");
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
