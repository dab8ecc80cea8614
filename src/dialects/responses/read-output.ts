import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, filledText, hasShape, type Shape } from "../shared/loose.ts";
import { isStatus } from "./items.ts";
import { type ItemSink, openItem, type OutputItem } from "./output-items.ts";

type Event = TurnEvent<UpstreamName>;

/**
 * Finds the output item that an event is about: by output index, unless the item id is that of
 * another item, else by item id, else it is the last item. Some upstreams change ids, leave indexes
 * out, use one twice or count one too far.
 */
export class OutputReader implements ItemSink {
  readonly newId: NewId;
  readonly callIds = new Set<string>();
  calls = 0;
  hosted = 0;
  /** True while the frame at hand is as the API would have sent it. */
  forwardable = true;
  /** True for an answer that came as one body, without deltas. */
  isWhole = false;
  readonly #out: Emit<Event>;
  readonly #items: OutputItem[] = [];
  readonly #byIndex = new Map<number, OutputItem>();
  readonly #byId = new Map<string, OutputItem>();
  /** Open items that know when all their parts are done. */
  readonly #completable = new Set<OutputItem>();
  /** The last event that was as the API sends it, and its item. */
  #before:
    | {
        readonly type: string;
        readonly index: unknown;
        readonly id: unknown;
        readonly item: OutputItem;
      }
    | undefined;
  /** The message, reasoning or call that is being emitted: one at a time, events of others wait. */
  #emitting: OutputItem | undefined;
  readonly #waiting = new Map<OutputItem, Event[]>();
  #isEmittingWaiting = false;

  constructor(newId: NewId, out: Emit<Event>) {
    this.newId = newId;
    this.#out = out;
  }

  markRepaired(): void {
    this.forwardable = false;
  }

  markMissedDelta(): void {
    if (!this.isWhole) this.forwardable = false;
  }

  emit(item: OutputItem, event: Event): void {
    if (this.#emitting !== undefined && this.#emitting !== item) {
      this.markRepaired();
      const events = this.#waiting.get(item);
      if (events === undefined) this.#waiting.set(item, [event]);
      else events.push(event);
      return;
    }
    this.#out(event);
    switch (event.type) {
      case "text-start":
      case "reasoning-start":
      case "call-start":
        this.#emitting = item;
        return;
      case "text-end":
      case "reasoning-end":
      case "call-end":
        return this.#emitNext(item);
      default:
    }
  }

  /** Emits the events that waited for the end of an item. */
  #emitNext(ended: OutputItem): void {
    if (this.#emitting !== ended) return;
    this.#emitting = undefined;
    // If an item ends among its waiting events, the loop below continues with the next.
    if (this.#isEmittingWaiting || this.#waiting.size === 0) return;
    this.#isEmittingWaiting = true;
    for (const [item, events] of this.#waiting) {
      if (this.#emitting !== undefined) break;
      this.#waiting.delete(item);
      for (const event of events) this.emit(item, event);
    }
    this.#isEmittingWaiting = false;
  }

  added(raw: Fields): void {
    const item = this.#itemIn(raw);
    if (item === undefined) return;
    const before = this.#at(raw.output_index);
    const isRepeated =
      before?.isClosed === false &&
      before.type === item.type &&
      before.id === filledText(item.id) &&
      before.callId === filledText(item.call_id);
    if (isRepeated) return this.markRepaired();
    if (!isOwnItem(item)) this.markRepaired();
    this.#open(item, raw.output_index);
  }

  done(raw: Fields): void {
    const item = this.#itemIn(raw);
    if (item === undefined) return;
    const id = filledText(item.id);
    let found = this.#calling(raw, item) ?? this.#find(raw, id, [String(item.type)]);
    if (found === undefined || isAnother(found, item)) {
      this.markRepaired();
      found = this.#open(item, raw.output_index);
    } else if (found.id !== id || !isOwnItem(item, found.first)) this.markRepaired();
    this.#close(found, item);
  }

  /** Any other event that is about an item. */
  each(type: string, raw: Fields): void {
    const before = this.#before;
    // Most events are about the item of the event before.
    if (
      before !== undefined &&
      before.type === type &&
      before.index === raw.output_index &&
      before.id === raw.item_id &&
      !before.item.isClosed
    )
      return before.item.each(type, raw);
    const id = filledText(raw.item_id);
    const index = raw.output_index;
    const suited = typesFor(type, raw);
    let item = this.#find(raw, id, suited) ?? this.#unannounced(suited[0], raw);
    if (item === undefined) return;
    if (item.isClosed && type.endsWith(".delta") && id !== undefined && !this.#byId.has(id))
      item = this.#open({ type: item.type, id }, index);
    this.#learnPlace(item, id, index);
    if (id === undefined || id !== item.id) this.markRepaired();
    else if (item === this.#at(index)) this.#before = { type, index, id, item };
    if (item.isClosed) this.markRepaired();
    else item.each(type, raw);
  }

  /**
   * Ends the answer. `output` is its final form, or `outputText` the text of it. Nothing may be lost:
   * items without events are emitted now, open ones are closed.
   */
  end(output: unknown, outputText: unknown, complete: boolean): void {
    const sent = (listOf(output) ?? []).flatMap((entry) => {
      const item = fieldsOf(entry);
      return item === undefined || filledText(item.type) === undefined ? [] : [item];
    });
    // Some send the text only in `output_text`, which client libraries of the API derive.
    if (
      filledText(outputText) !== undefined &&
      ![...sent, ...this.#items].some(({ type }) => type === "message")
    )
      sent.unshift({ type: "message", role: "assistant", content: outputText });
    const { known, left } = this.#match(sent);
    const answered = new Set(
      sent.flatMap((item) => (item.type === "shell_call_output" ? [item.call_id] : [])),
    );
    for (const raw of sent) {
      let item = known.get(raw);
      if (item === undefined) {
        this.markMissedDelta();
        const isAnswered = raw.type === "shell_call" && answered.has(raw.call_id);
        item = this.#open(raw, this.#items.length, isAnswered);
      }
      if (item.id !== filledText(raw.id) || !isOwnItem(raw, item.first)) this.markRepaired();
      if (item.last !== undefined && !agrees(raw, item.last)) this.markRepaired();
      if (item.isClosed) continue;
      this.markMissedDelta();
      this.#close(item, raw);
    }
    if (left.size > 0) this.markRepaired();
    for (const item of this.#items) if (!item.isClosed) this.#close(item, undefined, complete);
  }

  #itemIn(raw: Fields): Fields | undefined {
    const item = fieldsOf(raw.item);
    if (item !== undefined && filledText(item.type) !== undefined) return item;
    this.markRepaired();
    return item !== undefined && "role" in item ? { ...item, type: "message" } : undefined;
  }

  /** Finds the items of the final form that had events: by their ids, else by what they are. */
  #match(sent: readonly Fields[]): {
    known: ReadonlyMap<Fields, OutputItem>;
    left: ReadonlySet<OutputItem>;
  } {
    const known = new Map<Fields, OutputItem>();
    const left = new Set(this.#items);
    for (const isSame of sameness)
      for (const raw of sent) {
        if (known.has(raw)) continue;
        for (const item of left) {
          if (item.type !== raw.type || !isSame(item, raw)) continue;
          known.set(raw, item);
          left.delete(item);
          break;
        }
      }
    return { known, left };
  }

  #open(first: Fields, index: unknown, isAnswered = false): OutputItem {
    const number = this.#items.length;
    if (index !== number) this.markRepaired();
    // The next item has begun: items whose parts are all done end.
    for (const item of this.#completable)
      if (item.isComplete?.() === true) this.#close(item, undefined);
    const given = filledText(first.id);
    const id = given !== undefined && this.#byId.has(given) ? undefined : given;
    if (id === undefined) this.markRepaired();
    const item = openItem(first, id, { sink: this, isAnswered });
    this.#items.push(item);
    if (item.isComplete !== undefined) this.#completable.add(item);
    this.#byIndex.set(typeof index === "number" ? index : number, item);
    if (id !== undefined) this.#byId.set(id, item);
    return item;
  }

  #close(item: OutputItem, raw: Fields | undefined, complete = true): void {
    if (item.isClosed) return this.markRepaired();
    if (raw === undefined) this.markRepaired();
    item.isClosed = true;
    this.#completable.delete(item);
    item.last = raw;
    item.close(raw, raw === undefined ? complete : raw.status !== "incomplete");
    // A call that no event ended emits no end.
    this.#emitNext(item);
  }

  #at(index: unknown): OutputItem | undefined {
    return typeof index === "number" ? this.#byIndex.get(index) : undefined;
  }

  /** `types`: the types that the item can have, the likeliest first; any, if there are none. */
  #find(raw: Fields, id: string | undefined, types: readonly string[]): OutputItem | undefined {
    const isAny = types.length === 0;
    const byIndex = this.#at(raw.output_index);
    const byId = this.#byId.get(id ?? "");
    const isById = byId !== undefined && (isAny || types.includes(byId.type));
    const isByIndex = byIndex !== undefined && (isAny || types.includes(byIndex.type));
    if (isByIndex && (!isById || byId === byIndex || byIndex.first.id === id)) return byIndex;
    this.markRepaired();
    if (isById) return byId;
    const last = this.#items.at(-1);
    if (last === undefined || (!isAny && last.type !== types[0])) return undefined;
    if (typeof raw.output_index !== "number" && id === undefined) return last;
    if (last.isClosed || last.callId !== undefined) return undefined;
    // Some announce an item under one index and send its events under another, or count one too far at its end.
    const isEnd = id === undefined && raw.delta === undefined && last.isComplete?.() !== true;
    return !last.hasEvents || isEnd ? last : undefined;
  }

  /** Finds the call that an item ends if only the id of the call tells. */
  #calling(raw: Fields, item: Fields): OutputItem | undefined {
    const callId = filledText(item.call_id);
    if (callId === undefined || typeof raw.output_index === "number") return undefined;
    this.markRepaired();
    return this.#items.find(
      (one) => one.callId === callId && one.type === item.type && !one.isClosed,
    );
  }

  /** Remembers another id or index that events use for an item. */
  #learnPlace(item: OutputItem, id: string | undefined, index: unknown): void {
    item.hasEvents = true;
    if (typeof index === "number" && !this.#byIndex.has(index)) this.#byIndex.set(index, item);
    if (id === undefined || item.alias !== undefined || this.#byId.has(id)) return;
    item.alias = id;
    this.#byId.set(id, item);
  }

  /** Opens an item that was not announced; undefined if the type of its event tells nothing. */
  #unannounced(type: string | undefined, raw: Fields): OutputItem | undefined {
    if (type === undefined) return undefined;
    this.markRepaired();
    return this.#open({ type, id: raw.item_id }, raw.output_index ?? this.#items.length);
  }
}

/** Tests whether an item of the final form is one that had events, the surest first. */
const sameness: readonly ((item: OutputItem, raw: Fields) => boolean)[] = [
  ({ id }, raw) => id !== undefined && id === filledText(raw.id),
  ({ callId }, raw) => callId !== undefined && callId === filledText(raw.call_id),
  ({ callId, first, last }, raw) =>
    filledText(raw.call_id) === undefined ||
    // A call whose events had other ids.
    (first.name === raw.name && last !== undefined && agrees(raw, last)) ||
    // A call that was not announced, so that only its arguments are known.
    (callId === undefined && first.name === undefined),
];

/** True if an item is another than the one that was done in its place. */
const isAnother = ({ last }: OutputItem, item: Fields): boolean =>
  last !== undefined && (last.call_id !== item.call_id || !agrees(item, last));

/** The types of item that an event can be about, the likeliest first; none if it does not tell. */
function typesFor(type: string, raw: Fields): readonly string[] {
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

/** The fields that items always have, for the types that every client knows. */
const itemShapes: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>([
  ["message", { id: "text", status: "text", role: "text", content: "list" }],
  ["reasoning", { id: "text", summary: "list" }],
  [
    "function_call",
    { id: "text", call_id: "text", name: "text", arguments: "text", status: "text" },
  ],
  ["custom_tool_call", { id: "text", call_id: "text", name: "text", input: "text" }],
]);

/** True if an item can be shown as it is; `first` is the item as it was announced. */
function isOwnItem(item: Fields, first: Fields = item): boolean {
  const shape = itemShapes.get(item.type);
  if (shape === undefined) return true;
  if (!hasShape(item, shape) || (shape.status !== undefined && !isStatus(item.status)))
    return false;
  if (item.type === "message" && listOf(item.content)?.every(isOwnPart) !== true) return false;
  const { id, role, call_id, name } = first;
  return item.id === id && item.role === role && item.call_id === call_id && item.name === name;
}

function isOwnPart(part: unknown): boolean {
  const fields = fieldsOf(part);
  return fields?.type === "refusal"
    ? typeof fields.refusal === "string"
    : fields?.type === "output_text" && hasShape(fields, { text: "text", annotations: "list" });
}

/** True if the whole answer repeats an item as it was when it was done. Sealed text differs each time. */
const agrees = (item: Fields, done: Fields): boolean =>
  !itemShapes.has(item.type) ||
  item.type === "reasoning" ||
  (item.status === done.status &&
    item.arguments === done.arguments &&
    item.input === done.input &&
    (item.content === done.content || textOfParts(item) === textOfParts(done)));

const textOfParts = (item: Fields): string =>
  JSON.stringify(
    (listOf(item.content) ?? []).map((part) => {
      const { type, text, refusal, annotations } = fieldsOf(part) ?? {};
      return [type, text ?? refusal, listOf(annotations) ?? []];
    }),
  );
