import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";
import { agrees, isOwnItem } from "./complete.ts";
import { OneOpenItem } from "./one-open-item.ts";
import { isHosted, kindOfCall } from "./kinds.ts";
import { CallReader } from "./read-call.ts";
import { MessageReader } from "./read-message.ts";
import { ReasoningReader } from "./read-reasoning.ts";
import { choice, type AnswerContext, type ItemContext, type ItemReader } from "./item-context.ts";

/** An output item while events about it come. */
type Slot = {
  readonly type: string;
  readonly id: string | undefined;
  readonly callId: string | undefined;
  /** As it was announced. */
  readonly first: Fields;
  readonly reader: ItemReader;
  /** Identifies it among the items that wait to be emitted. */
  readonly owner: object;
  /** The first id that its events have in place of its own. */
  alias: string | undefined;
  /** Whether there have been events about it. */
  hasEvents: boolean;
  closed: boolean;
  /** As it was when it was done. */
  last: Fields | undefined;
};

/**
 * The output items of one answer. Events find theirs by output index, unless
 * their id is that of another item, else by item id, else they are about the
 * last one: ids rotate, indexes are left out, shared or one too high.
 */
export class OutputReader {
  readonly #to: AnswerContext;
  readonly #slots: Slot[] = [];
  readonly #byIndex = new Map<number, Slot>();
  readonly #byId = new Map<string, Slot>();
  /** Open items whose reader knows when all their parts are done. */
  readonly #completable = new Set<Slot>();
  readonly #openItem: OneOpenItem;
  readonly #callIds = new Set<string>();
  /** The last event that was as the API sends it, and its slot. */
  #before:
    | { readonly type: string; readonly index: unknown; readonly id: unknown; readonly slot: Slot }
    | undefined;
  #calls = 0;
  #items = 0;

  constructor(to: AnswerContext) {
    this.#to = to;
    this.#openItem = new OneOpenItem(to);
  }

  added(raw: Fields): void {
    const item = this.#item(raw);
    if (item === undefined) return;
    const before = this.#at(raw.output_index);
    const isRepeated =
      before?.closed === false &&
      before.type === item.type &&
      before.id === filledText(item.id) &&
      before.callId === filledText(item.call_id);
    if (isRepeated) return this.#to.markRepaired();
    if (!isOwnItem(item)) this.#to.markRepaired();
    this.#open(item, raw.output_index);
  }

  done(raw: Fields): void {
    const item = this.#item(raw);
    if (item === undefined) return;
    const id = filledText(item.id);
    let slot = this.#calling(raw, item) ?? this.#find(raw, id, [String(item.type)]);
    if (slot === undefined || isAnother(slot, item)) {
      this.#to.markRepaired();
      slot = this.#open(item, raw.output_index);
    } else if (slot.id !== id || !isOwnItem(item, slot.first)) this.#to.markRepaired();
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
    const id = filledText(raw.item_id);
    const suited = typeFor(type, raw);
    let slot = this.#find(raw, id, suited) ?? this.#unannounced(suited[0], raw);
    if (slot === undefined) return;
    if (slot.closed && type.endsWith(".delta") && id !== undefined && !this.#byId.has(id))
      slot = this.#open({ type: slot.type, id }, raw.output_index);
    this.#learn(slot, id, raw.output_index);
    if (id === undefined || id !== slot.id) this.#to.markRepaired();
    else if (slot === this.#at(raw.output_index))
      this.#before = { type, index: raw.output_index, id, slot };
    if (slot.closed) this.#to.markRepaired();
    else slot.reader.each(type, raw);
  }

  /**
   * The answer is over and `output` is its final form, or `outputText` the text
   * of it. Nothing may be lost: items without events are emitted now, open ones
   * closed.
   */
  end(output: unknown, outputText: unknown, complete: boolean): void {
    const items = (listOf(output) ?? []).flatMap((entry) => {
      const item = fieldsOf(entry);
      return item === undefined || filledText(item.type) === undefined ? [] : [item];
    });
    const hasMessage = [...items, ...this.#slots].some(({ type }) => type === "message");
    // Some send the text only in `output_text`, which client libraries of the API derive.
    if (!hasMessage && filledText(outputText) !== undefined)
      items.unshift({ type: "message", role: "assistant", content: outputText });
    const { known, left } = this.#match(items);
    const answered = new Set(
      items.map((item) => item.type === "shell_call_output" && item.call_id),
    );
    for (const item of items) {
      let slot = known.get(item);
      if (slot === undefined) {
        this.#to.markMissedDelta();
        const isAnswered = item.type === "shell_call" && answered.has(item.call_id);
        slot = this.#open(item, this.#slots.length, isAnswered);
      }
      if (slot.id !== filledText(item.id) || !isOwnItem(item, slot.first)) this.#to.markRepaired();
      if (slot.last !== undefined && !agrees(item, slot.last)) this.#to.markRepaired();
      if (slot.closed) continue;
      this.#to.markMissedDelta();
      this.#close(slot, item);
    }
    if (left.size > 0) this.#to.markRepaired();
    for (const slot of this.#slots) if (!slot.closed) this.#close(slot, undefined, complete);
  }

  #item(raw: Fields): Fields | undefined {
    const item = itemOf(raw);
    if (item === undefined || item !== raw.item) this.#to.markRepaired();
    return item;
  }

  /** Which of the items had events: by their ids, else by what they are. */
  #match(items: readonly Fields[]): { known: Map<Fields, Slot>; left: ReadonlySet<Slot> } {
    const known = new Map<Fields, Slot>();
    const left = new Set(this.#slots);
    const tests: readonly ((slot: Slot, item: Fields) => boolean)[] = [
      (slot, item) => slot.id !== undefined && slot.id === filledText(item.id),
      (slot, item) => slot.callId !== undefined && slot.callId === filledText(item.call_id),
      (slot, item) =>
        filledText(item.call_id) === undefined || isRenamed(slot, item) || isUnnamed(slot),
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
    if (index !== this.#slots.length) this.#to.markRepaired();
    this.#yield();
    const given = filledText(item.id);
    const id = given !== undefined && this.#byId.has(given) ? undefined : given;
    if (id === undefined) this.#to.markRepaired();
    const type = String(item.type);
    const owner = {};
    const slot: Slot = {
      type,
      id,
      callId: filledText(item.call_id),
      first: item,
      reader: readerOf(id === given ? item : { ...item, id }, this.#contextOf(owner), isAnswered),
      owner,
      alias: undefined,
      hasEvents: false,
      closed: false,
      last: undefined,
    };
    this.#slots.push(slot);
    if (slot.reader.isComplete !== undefined) this.#completable.add(slot);
    this.#byIndex.set(typeof index === "number" ? index : this.#slots.length - 1, slot);
    if (id !== undefined) this.#byId.set(id, slot);
    return slot;
  }

  #close(slot: Slot, item: Fields | undefined, complete = true): void {
    if (slot.closed) return this.#to.markRepaired();
    if (item === undefined) this.#to.markRepaired();
    slot.closed = true;
    this.#completable.delete(slot);
    slot.last = item;
    slot.reader.close(item, item === undefined ? complete : item.status !== "incomplete");
    // A reader whose item was not closed emits no end of its own.
    this.#openItem.leave(slot.owner);
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
    this.#to.markRepaired();
    if (byId !== undefined && isSuited(byId)) return byId;
    const last = this.#slots.at(-1);
    if (last === undefined || (types.length > 0 && last.type !== types[0])) return undefined;
    if (typeof raw.output_index !== "number" && id === undefined) return last;
    if (last.closed || last.callId !== undefined) return undefined;
    // An item may be announced under one index and have events under another, or the index be one too high at its end.
    const isEnd =
      id === undefined && raw.delta === undefined && last.reader.isComplete?.() !== true;
    return !last.hasEvents || isEnd ? last : undefined;
  }

  /** The call that an item is the end of, where only the id of the call says so. */
  #calling(raw: Fields, item: Fields): Slot | undefined {
    const callId = filledText(item.call_id);
    if (callId === undefined || typeof raw.output_index === "number") return undefined;
    this.#to.markRepaired();
    return this.#slots.find(
      (slot) => slot.callId === callId && slot.type === item.type && !slot.closed,
    );
  }

  /** What else an item goes by. */
  #learn(slot: Slot, id: string | undefined, index: unknown): void {
    slot.hasEvents = true;
    if (typeof index === "number" && !this.#byIndex.has(index)) this.#byIndex.set(index, slot);
    if (id === undefined || slot.alias !== undefined || this.#byId.has(id)) return;
    slot.alias = id;
    this.#byId.set(id, slot);
  }

  /** An event about an item that was not announced; undefined if its type says nothing. */
  #unannounced(type: string | undefined, raw: Fields): Slot | undefined {
    if (type === undefined) return undefined;
    this.#to.markRepaired();
    return this.#open({ type, id: raw.item_id }, raw.output_index ?? this.#slots.length);
  }

  /** Closes items whose parts are all done: the next one has begun. */
  #yield(): void {
    for (const slot of this.#completable)
      if (slot.reader.isComplete?.() === true) this.#close(slot, undefined);
  }

  #contextOf(owner: object): ItemContext {
    return {
      emit: (event) => this.#openItem.emit(owner, event),
      markRepaired: this.#to.markRepaired,
      markMissedDelta: this.#to.markMissedDelta,
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

/** Whether a call was not announced, so that only its arguments are known. */
const isUnnamed = ({ callId, first }: Slot): boolean =>
  callId === undefined && first.name === undefined;

/** Whether an item is a call whose events had other ids. */
const isRenamed = (slot: Slot, item: Fields): boolean =>
  slot.first.name === item.name && slot.last !== undefined && agrees(item, slot.last);

function itemOf(raw: Fields): Fields | undefined {
  const item = fieldsOf(raw.item);
  if (item === undefined || filledText(item.type) !== undefined) return item;
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
  to.emit({ type: "item-start", choice, item, dialect, raw: first });
  return {
    each: (_, raw) => to.emit({ type: "item-note", choice, item, dialect, raw }),
    close: (raw) => to.emit({ type: "item-end", choice, item, dialect, raw: raw ?? first }),
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
