import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, textOf } from "../shared/loose.ts";
import { agrees, isOwnItem } from "./complete.ts";
import { OneOpenItem } from "./one-open-item.ts";
import { isHosted, kindOfCall } from "./kinds.ts";
import { CallReader } from "./read-call.ts";
import { MessageReader } from "./read-message.ts";
import { ReasoningReader } from "./read-reasoning.ts";
import { choice, type ItemReader, type ItemContext } from "./item-context.ts";

type Event = TurnEvent<UpstreamName>;

/** An output item while it is being told of. */
type Slot = {
  readonly type: string;
  readonly id: string | undefined;
  readonly callId: string | undefined;
  /** As it was announced. */
  readonly first: Fields;
  readonly reader: ItemReader;
  /** Who has the floor while it speaks. */
  readonly owner: object;
  /** The first id that its events have in place of its own. */
  alias: string | undefined;
  /** Whether there have been events about it. */
  heard: boolean;
  closed: boolean;
  /** As it was when it was done. */
  last: Fields | undefined;
};

export type OutputOptions = {
  readonly newId: NewId;
  readonly say: (event: Event) => void;
  readonly bent: () => void;
  readonly late: () => void;
};

/**
 * The output items of one answer. Events find theirs by output index, unless
 * their id is that of another item, else by item id, else they are about the
 * last one: ids rotate, indexes are left out, shared or one too high.
 */
export class OutputReader {
  readonly #to: OutputOptions;
  readonly #slots: Slot[] = [];
  readonly #byIndex = new Map<number, Slot>();
  readonly #byId = new Map<string, Slot>();
  /** Those that may come to have said all before they are done. */
  readonly #ripening = new Set<Slot>();
  readonly #floor: OneOpenItem;
  readonly #callIds = new Set<string>();
  /** A forwardable event and its slot. */
  #before:
    | { readonly type: string; readonly index: unknown; readonly id: unknown; readonly slot: Slot }
    | undefined;
  #calls = 0;
  #items = 0;

  constructor(to: OutputOptions) {
    this.#to = to;
    this.#floor = new OneOpenItem(to);
  }

  added(raw: Fields): void {
    const item = this.#item(raw);
    if (item === undefined) return;
    const before = this.#at(raw.output_index);
    const isRepeated =
      before?.closed === false &&
      before.type === item.type &&
      before.id === textOf(item.id) &&
      before.callId === textOf(item.call_id);
    if (isRepeated) return this.#to.bent();
    if (!isOwnItem(item)) this.#to.bent();
    this.#open(item, raw.output_index);
  }

  done(raw: Fields): void {
    const item = this.#item(raw);
    if (item === undefined) return;
    const id = textOf(item.id);
    let slot = this.#calling(raw, item) ?? this.#find(raw, id, [String(item.type)]);
    if (slot === undefined || isAnother(slot, item)) {
      this.#to.bent();
      slot = this.#open(item, raw.output_index);
    } else if (slot.id !== id || !isOwnItem(item, slot.first)) this.#to.bent();
    this.#close(slot, item);
  }

  /** Any other event that is about an item. */
  each(type: string, raw: Fields): void {
    const before = this.#before;
    // Most events are about what the one before was about.
    if (
      before !== undefined &&
      before.type === type &&
      before.index === raw.output_index &&
      before.id === raw.item_id &&
      !before.slot.closed
    )
      return before.slot.reader.each(type, raw);
    const id = textOf(raw.item_id);
    const suited = typeFor(type, raw);
    let slot = this.#find(raw, id, suited) ?? this.#unannounced(suited[0], raw);
    if (slot === undefined) return;
    if (slot.closed && type.endsWith(".delta") && id !== undefined && !this.#byId.has(id))
      slot = this.#open({ type: slot.type, id }, raw.output_index);
    this.#learn(slot, id, raw.output_index);
    if (id === undefined || id !== slot.id) this.#to.bent();
    else if (slot === this.#at(raw.output_index))
      this.#before = { type, index: raw.output_index, id, slot };
    if (slot.closed) this.#to.bent();
    else slot.reader.each(type, raw);
  }

  /**
   * The answer is over and `output` is what it came to, or at least `words`.
   * Nothing may be lost: what has not been told of is told now, what is open is
   * closed.
   */
  end(output: unknown, words: unknown, complete: boolean): void {
    const items = (listOf(output) ?? []).flatMap((entry) => {
      const item = fieldsOf(entry);
      return item === undefined || textOf(item.type) === undefined ? [] : [item];
    });
    const isSpoken = [...items, ...this.#slots].some(({ type }) => type === "message");
    // Some say the text where the client libraries of the API gather it, and nowhere else.
    if (!isSpoken && textOf(words) !== undefined)
      items.unshift({ type: "message", role: "assistant", content: words });
    const { known, left } = this.#match(items);
    const answered = new Set(
      items.map((item) => item.type === "shell_call_output" && item.call_id),
    );
    for (const item of items) {
      let slot = known.get(item);
      if (slot === undefined) {
        this.#to.late();
        const isAnswered = item.type === "shell_call" && answered.has(item.call_id);
        slot = this.#open(item, this.#slots.length, isAnswered);
      }
      if (slot.id !== textOf(item.id) || !isOwnItem(item, slot.first)) this.#to.bent();
      if (slot.last !== undefined && !agrees(item, slot.last)) this.#to.bent();
      if (slot.closed) continue;
      this.#to.late();
      this.#close(slot, item);
    }
    if (left.size > 0) this.#to.bent();
    for (const slot of this.#slots) if (!slot.closed) this.#close(slot, undefined, complete);
  }

  #item(raw: Fields): Fields | undefined {
    const item = itemOf(raw);
    if (item === undefined || item !== raw.item) this.#to.bent();
    return item;
  }

  /** Which of the items have been told of: by their ids, else by what they are. */
  #match(items: readonly Fields[]): { known: Map<Fields, Slot>; left: ReadonlySet<Slot> } {
    const known = new Map<Fields, Slot>();
    const left = new Set(this.#slots);
    const tests: readonly ((slot: Slot, item: Fields) => boolean)[] = [
      (slot, item) => slot.id !== undefined && slot.id === textOf(item.id),
      (slot, item) => slot.callId !== undefined && slot.callId === textOf(item.call_id),
      (slot, item) =>
        textOf(item.call_id) === undefined || isRenamed(slot, item) || isUnnamed(slot),
    ];
    for (const test of tests)
      for (const item of items) {
        if (known.has(item)) continue;
        for (const slot of left) {
          if (slot.type !== item.type || !test(slot, item)) continue;
          known.set(item, slot);
          left.delete(slot);
          break;
        }
      }
    return { known, left };
  }

  #open(item: Fields, index: unknown, isAnswered = false): Slot {
    if (index !== this.#slots.length) this.#to.bent();
    this.#yield();
    const given = textOf(item.id);
    const id = given !== undefined && this.#byId.has(given) ? undefined : given;
    if (id === undefined) this.#to.bent();
    const type = String(item.type);
    const owner = {};
    const slot: Slot = {
      type,
      id,
      callId: textOf(item.call_id),
      first: item,
      reader: readerOf(id === given ? item : { ...item, id }, this.#teller(owner), isAnswered),
      owner,
      alias: undefined,
      heard: false,
      closed: false,
      last: undefined,
    };
    this.#slots.push(slot);
    if (slot.reader.ripe !== undefined) this.#ripening.add(slot);
    this.#byIndex.set(typeof index === "number" ? index : this.#slots.length - 1, slot);
    if (id !== undefined) this.#byId.set(id, slot);
    return slot;
  }

  #close(slot: Slot, item: Fields | undefined, complete = true): void {
    if (slot.closed) return this.#to.bent();
    if (item === undefined) this.#to.bent();
    slot.closed = true;
    this.#ripening.delete(slot);
    slot.last = item;
    slot.reader.close(item, item === undefined ? complete : item.status !== "incomplete");
    // Who is told of no end says none.
    this.#floor.leave(slot.owner);
  }

  #at(index: unknown): Slot | undefined {
    return typeof index === "number" ? this.#byIndex.get(index) : undefined;
  }

  /** `types`: of which the item can be, the likeliest first; any, if there are none. */
  #find(raw: Fields, id: string | undefined, types: readonly string[]): Slot | undefined {
    const isSuited = ({ type }: Slot): boolean => types.length === 0 || types.includes(type);
    const byIndex = this.#at(raw.output_index);
    const byId = this.#byId.get(id ?? "");
    const isOther = byId !== undefined && byId !== byIndex && isSuited(byId);
    if (byIndex !== undefined && isSuited(byIndex) && (!isOther || byIndex.first.id === id))
      return byIndex;
    this.#to.bent();
    if (byId !== undefined && isSuited(byId)) return byId;
    const last = this.#slots.at(-1);
    if (last === undefined || (types.length > 0 && last.type !== types[0])) return undefined;
    if (typeof raw.output_index !== "number" && id === undefined) return last;
    if (last.closed || last.callId !== undefined) return undefined;
    // An item may be announced in one place and told of in another, or counted on when it ends.
    const isEnd = id === undefined && raw.delta === undefined && last.reader.ripe?.() !== true;
    return !last.heard || isEnd ? last : undefined;
  }

  /** The call that an item is the end of, where only the id of the call says so. */
  #calling(raw: Fields, item: Fields): Slot | undefined {
    const callId = textOf(item.call_id);
    if (callId === undefined || typeof raw.output_index === "number") return undefined;
    this.#to.bent();
    return this.#slots.find(
      (slot) => slot.callId === callId && slot.type === item.type && !slot.closed,
    );
  }

  /** What else an item goes by. */
  #learn(slot: Slot, id: string | undefined, index: unknown): void {
    slot.heard = true;
    if (typeof index === "number" && !this.#byIndex.has(index)) this.#byIndex.set(index, slot);
    if (id === undefined || slot.alias !== undefined || this.#byId.has(id)) return;
    slot.alias = id;
    this.#byId.set(id, slot);
  }

  /** An event about an item that nobody announced; undefined if it cannot be told which. */
  #unannounced(type: string | undefined, raw: Fields): Slot | undefined {
    if (type === undefined) return undefined;
    this.#to.bent();
    return this.#open({ type, id: raw.item_id }, raw.output_index ?? this.#slots.length);
  }

  /** An item that has said all it began to say makes way for the next. */
  #yield(): void {
    for (const slot of this.#ripening)
      if (slot.reader.ripe?.() === true) this.#close(slot, undefined);
  }

  #teller(owner: object): ItemContext {
    return {
      say: (event) => this.#floor.say(owner, event),
      bent: this.#to.bent,
      late: this.#to.late,
      newId: this.#to.newId,
      callIds: this.#callIds,
      nextCall: () => this.#calls++,
      nextItem: () => this.#items++,
    };
  }
}

/** Whether an item is another than the one that was done in its place. */
const isAnother = ({ last }: Slot, item: Fields): boolean =>
  last !== undefined && (last.call_id !== item.call_id || !agrees(item, last));

/** Whether nobody announced a call, so that only its arguments have been told. */
const isUnnamed = ({ callId, first }: Slot): boolean =>
  callId === undefined && first.name === undefined;

/** Whether an item is a call that was told of under other ids. */
const isRenamed = (slot: Slot, item: Fields): boolean =>
  slot.first.name === item.name && slot.last !== undefined && agrees(item, slot.last);

function itemOf(raw: Fields): Fields | undefined {
  const item = fieldsOf(raw.item);
  if (item === undefined || textOf(item.type) !== undefined) return item;
  return "role" in item ? { ...item, type: "message" } : undefined;
}

/** `isAnswered`: what it calls has been run, so it is no call to the client. */
function readerOf(item: Fields, to: ItemContext, isAnswered: boolean): ItemReader {
  if (item.type === "message") return new MessageReader(item, to);
  if (item.type === "reasoning") return new ReasoningReader(item, to);
  const kind = kindOfCall(String(item.type));
  return kind === undefined || isAnswered || isHosted(item)
    ? hostedReader(item, to)
    : new CallReader(kind, item, to);
}

/** An item that the upstream works on itself, or one that we do not know. */
function hostedReader(first: Fields, to: ItemContext): ItemReader {
  const item = to.nextItem();
  const dialect = "responses";
  to.say({ type: "item-start", choice, item, dialect, raw: first });
  return {
    each: (_, raw) => to.say({ type: "item-note", choice, item, dialect, raw }),
    close: (raw) => to.say({ type: "item-end", choice, item, dialect, raw: raw ?? first }),
  };
}

/** The types of item that an event can only be about, the likeliest first; none if it does not say. */
function typeFor(type: string, raw: Fields): readonly string[] {
  if (type.startsWith("response.output_text.") || type.startsWith("response.refusal."))
    return ["message"];
  if (type.startsWith("response.content_part."))
    return fieldsOf(raw.part)?.type === "reasoning_text"
      ? ["reasoning", "message"]
      : ["message", "reasoning"];
  if (type.startsWith("response.reasoning")) return ["reasoning"];
  if (type.startsWith("response.function_call_arguments.")) return ["function_call"];
  if (type.startsWith("response.custom_tool_call_input.")) return ["custom_tool_call"];
  return [];
}
