import { checkHeld } from "../../stream/length-limit.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { CallDelta, CallStart, Literals } from "../../turn/event.ts";
import { isFields } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, inputText, listOf } from "../shared/loose.ts";
import { hasShape } from "../shared/plain.ts";

/** A piece of a call as chat upstreams send them: any of it may be missing, null or empty. */
export type Fragment = {
  readonly index?: number | null | undefined;
  readonly id?: string | null | undefined;
  readonly kind?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** Text, or the arguments as a value where an upstream does not encode them. */
  readonly input?: unknown;
  /** Whether another piece came before it in the same chunk. */
  readonly notFirst?: boolean | undefined;
  /** What else came with it, such as a signature to be given back with the call. */
  readonly extra?: Fields | undefined;
};

type Slot = {
  readonly call: number;
  /** The id that the client gets. */
  readonly id: string;
  /** The last id that the upstream gave. */
  given: string;
  kind: string;
  name: string;
  /** Held until it begins. */
  held: string;
  /** Nothing has come as its input, or nothing but blanks as its arguments. */
  empty: boolean;
  extra: Fields | undefined;
  readonly extent: Extent;
};

/** What a call that has not begun counts beside its characters. */
const SLOT = 64;

type CallEvents = Emit<CallStart<UpstreamName> | CallDelta>;

/**
 * Puts the calls of one choice together from fragments. A fragment belongs to
 * the call of its index, else of its id, else to the last one; see `isNext` for
 * when it opens a new call all the same. The name may come late or in pieces,
 * so a call starts with its first argument or at its end.
 */
export class CallAssembly {
  readonly #choice: number;
  readonly #newId: NewId;
  readonly #slots: Slot[] = [];
  readonly #byIndex = new Map<number, Slot>();
  readonly #byId = new Map<string, Slot>();
  #last: Slot | undefined;
  /** The first call that has not begun, and the last one that could: they begin in their order. */
  #next = 0;
  #due = -1;
  /** The call that was emitted last. */
  #current: Slot | undefined;
  /** The header of a complete call, sent once more: the same again, or that of the next call. */
  #header: { readonly of: Slot; readonly fragment: Fragment } | undefined;
  #heldLength = 0;

  constructor(choice: number, newId: NewId) {
    this.#choice = choice;
    this.#newId = newId;
  }

  /** Whether a list of calls, or of their pieces, is as the OpenAI API writes it, and no call waits. */
  fits(list: unknown, isWhole: boolean): boolean {
    if (!Array.isArray(list) || this.#header !== undefined || this.#due >= this.#next) return false;
    // Some readers look at the first call of a frame only.
    if (!isWhole) return list.length === 1 && this.#fitsPiece(list[0]);
    const ids = new Set<unknown>();
    for (const [at, raw] of (list as readonly unknown[]).entries()) {
      if (!isFields(raw) || !hasOwnHeader(raw) || ids.has(raw.id)) return false;
      if (raw.index !== undefined && raw.index !== at) return false;
      const text = inputOf(raw);
      if (text.trim() === "" || (at + 1 < list.length && isOpenText(raw, text))) return false;
      ids.add(raw.id);
    }
    return this.#slots.length === 0;
  }

  #fitsPiece(raw: unknown): boolean {
    if (!isFields(raw) || typeof raw.index !== "number") return false;
    const { index, id, type } = raw;
    const slot = this.#slots[index];
    if (this.#byIndex.get(index) !== slot) return false;
    if (slot === undefined) {
      if (index !== this.#slots.length || !hasOwnHeader(raw)) return false;
      if (this.#byId.has(String(id))) return false;
    } else {
      const body = bodyOf(raw, slot.kind);
      if (id !== undefined || type !== undefined || slot.name === "") return false;
      if (body === undefined || body.name !== undefined) return false;
      if (typeof body[inputField(slot.kind)] !== "string") return false;
    }
    // One that begins now waits for those before it to begin, and to be complete.
    const isNext = index === this.#next && !isOpen(this.#current);
    return index < this.#next || isNext || inputOf(raw) === "";
  }

  /** Whether such a piece begins a call. */
  begins(list: unknown): boolean {
    const index = listOf(list)?.map((raw) => fieldsOf(raw)?.index)[0];
    return typeof index !== "number" || index >= this.#next;
  }

  /** Reads a list that fits. */
  take(list: readonly Fields[], isWhole: boolean, emit: CallEvents): void {
    for (let at = 0; at < list.length; at++) {
      const raw = list[at] ?? {};
      const index = isWhole ? at : (raw.index as number);
      let slot = this.#slots[index];
      if (slot === undefined) {
        const { id, type: kind } = raw as { id: string; type: string };
        const { name } = raw[kind] as { name: string };
        slot = this.#open({ index, id, kind });
        this.#learn(slot, { index, id, kind, name, extra: vendorFieldsOf(raw) });
      } else if (index >= this.#next) this.#learn(slot, { index, extra: vendorFieldsOf(raw) });
      this.#last = slot;
      const text = inputOf(raw);
      if (text === "") continue;
      if (index >= this.#next) {
        this.#due = index;
        this.#begin(slot, emit);
      }
      this.#add(slot, text, emit);
    }
  }

  /** Reads a fragment of any shape. */
  each(fragment: Fragment, emit: CallEvents): void {
    const { id } = fragment;
    const text = inputText(fragment.input);
    let slot = this.#find(fragment);
    const header = text.trim() === "" ? undefined : this.#header;
    if (slot !== undefined && header?.of === slot && isBlank(fragment.name)) {
      // Nothing can be added to what is over, so this is about another call of that name.
      slot = this.#open(header.fragment);
      this.#learn(slot, header.fragment);
    }
    if (slot === undefined) {
      if (isBlank(id) && isBlank(fragment.name) && text === "") return;
      slot = this.#open(fragment);
    }
    this.#header = isHeader(slot, fragment, text) ? { of: slot, fragment } : undefined;
    this.#learn(slot, fragment);
    if (text !== "" && !isRepeat(slot, fragment)) this.#add(slot, text, emit);
    if (slot.held !== "" && slot.name !== "") this.#due = Math.max(this.#due, slot.call);
    this.#beginDue(emit);
  }

  /** Fragments known to be nothing but more text of a call, while no other call waits. */
  more(call: number, literals: Literals, emit: CallEvents): void {
    const slot = this.#slots[call];
    if (slot !== undefined) this.#add(slot, literals.of, emit, literals);
  }

  /** The choice is over: begins calls that never had arguments, or waited for others. */
  end(emit: CallEvents): void {
    for (const slot of this.#slots.slice(this.#next)) {
      if (slot.name === "") return;
      this.#begin(slot, emit);
    }
  }

  made(): boolean {
    return this.#slots.length > 0;
  }

  /** Whether a call has begun upstream that cannot be emitted yet. */
  waiting(): boolean {
    return this.#next < this.#slots.length;
  }

  /** Whether a call never got its name: nobody can answer it. */
  nameless(): boolean {
    return this.#slots.some((slot) => slot.name === "");
  }

  /** The calls whose arguments are open. */
  unclosed(): readonly number[] {
    return this.#slots.filter(isOpen).map(({ call }) => call);
  }

  /** Whether all calls have begun and have arguments. */
  isSettled(): boolean {
    if (this.waiting()) return false;
    for (const { empty } of this.#slots) if (empty) return false;
    return true;
  }

  #find(fragment: Fragment): Slot | undefined {
    const { id, index } = fragment;
    const known = isBlank(id) ? undefined : this.#byId.get(id);
    if (typeof index !== "number") return ongoing(known ?? this.#last, fragment);
    const slot = this.#byIndex.get(index);
    // Two calls under one index take turns by id; one id under two indexes is two calls.
    const isKnown = known !== undefined && (slot !== undefined || isBlank(fragment.name));
    const found = isKnown ? known : slot;
    return found === this.#last && isTwin(found, fragment) ? undefined : ongoing(found, fragment);
  }

  #open({ id, kind }: Fragment): Slot {
    const given = id ?? "";
    const taken = given === "" || this.#byId.has(given);
    const slot: Slot = {
      call: this.#slots.length,
      id: taken ? this.#newId("call") : given,
      given,
      kind: kindOf(kind),
      name: "",
      held: "",
      empty: true,
      extra: undefined,
      extent: newExtent(),
    };
    this.#slots.push(slot);
    this.#hold(SLOT);
    return slot;
  }

  #learn(slot: Slot, { index, id, kind, name, extra }: Fragment): void {
    this.#last = slot;
    if (typeof index === "number") this.#byIndex.set(index, slot);
    if (!isBlank(id)) this.#byId.set((slot.given = id), slot);
    if (this.#hasBegun(slot)) return;
    if (extra !== undefined) slot.extra = { ...slot.extra, ...extra };
    if (!isBlank(kind)) slot.kind = kindOf(kind);
    if (isBlank(name)) return;
    const known = slot.name.length;
    slot.name = joinName(slot.name, name);
    this.#hold(slot.name.length - known);
  }

  #hold(length: number): void {
    this.#heldLength += length;
    checkHeld(this.#heldLength);
  }

  /**
   * Emits the starts of calls that can begin. Readers follow one at a time, so
   * while the arguments of one are open the others wait; and once a call has
   * arguments, the names of those before it are complete.
   */
  #beginDue(emit: CallEvents): void {
    while (this.#next <= this.#due) {
      const slot = this.#slots[this.#next];
      if (slot === undefined || slot.name === "" || isOpen(this.#current)) return;
      this.#begin(slot, emit);
    }
  }

  #hasBegun({ call }: Slot): boolean {
    return call < this.#next;
  }

  #begin(slot: Slot, emit: CallEvents): void {
    this.#next++;
    this.#current = slot;
    const choice = this.#choice;
    const { call, id, kind, extra, held } = slot;
    this.#heldLength -= SLOT + slot.name.length + held.length;
    emit({
      type: "call-start",
      choice,
      call,
      id,
      kind,
      name: upstreamName(slot.name),
      ...(extra !== undefined && { extra: { dialect: "chat", fields: extra } as const }),
    });
    if (held !== "") emit({ type: "call-delta", choice, call, text: held });
    slot.held = "";
  }

  #add(slot: Slot, text: string, emit: CallEvents, literals?: Literals): void {
    if (slot.empty && (slot.kind === "custom" || text.trim() !== "")) slot.empty = false;
    slot.extent.unread += text;
    // A string of a million pieces takes far more room than its text.
    if (slot.extent.unread.length > 4096) read(slot.extent);
    if (!this.#hasBegun(slot)) {
      slot.held += text;
      this.#hold(text.length);
      return;
    }
    this.#current = slot;
    const delta = { type: "call-delta", choice: this.#choice, call: slot.call, text } as const;
    emit(literals === undefined ? delta : { ...delta, literals });
  }
}

/** The call that a fragment found, unless it opens the next one. */
const ongoing = (slot: Slot | undefined, fragment: Fragment): Slot | undefined =>
  slot === undefined || isNext(slot, fragment) ? undefined : slot;

/** Whether a fragment of the same chunk and index as the last is of another call. */
const isTwin = (last: Slot | undefined, { notFirst, id, name }: Fragment): boolean =>
  notFirst === true &&
  !isBlank(id) &&
  !isBlank(name) &&
  !isBlank(last?.given) &&
  id !== last?.given;

/**
 * Whether a fragment that found a call by index, id or position opens the next
 * one instead. Only a fragment with a name can, and then it is the name's and
 * the id's word against the arguments': ids rotate and headers are repeated
 * while a call lasts, but once its arguments are closed nothing can be added.
 */
function isNext(slot: Slot, fragment: Fragment): boolean {
  const { name, id } = fragment;
  if (isBlank(name) || slot.name === "") return false;
  const hasIndex = typeof fragment.index === "number";
  if (fragment.notFirst === true && !hasIndex && id !== slot.given) return true;
  const otherName = name !== slot.name;
  const otherId = !isBlank(id) && slot.given !== "" && id !== slot.given;
  if (otherId && (otherName || slot.kind === "custom")) return true;
  if (slot.empty) return !hasIndex && (otherId || (otherName && !name.startsWith(slot.name)));
  if (slot.kind === "custom" || !isClosed(slot.extent)) return false;
  if (otherId || otherName) return true;
  return inputText(fragment.input).trim() !== "" && !isRepeat(slot, fragment);
}

/** Whether a fragment repeats the name of a complete call, without arguments. */
const isHeader = ({ kind, name, extent }: Slot, fragment: Fragment, text: string): boolean =>
  !isBlank(name) &&
  fragment.name === name &&
  kind !== "custom" &&
  text.trim() === "" &&
  isClosed(extent);

/** Whether a fragment repeats a whole call, as some upstreams do at the end. */
function isRepeat({ kind, given, name, extent }: Slot, fragment: Fragment): boolean {
  if (isBlank(fragment.id) || fragment.id !== given || fragment.name !== name) return false;
  const text = inputText(fragment.input);
  return (
    kind !== "custom" &&
    text.length === extent.length + extent.unread.length &&
    isClosed(extent) &&
    summed(0, text) === extent.sum
  );
}

/** How far a JSON text has got. Text is scanned only when somebody asks, which is rare. */
type Extent = {
  unread: string;
  /** How much was read, and what it sums up to. */
  length: number;
  sum: number;
  readonly scanner: JsonScanner;
};

const newExtent = (): Extent => ({ unread: "", length: 0, sum: 0, scanner: new JsonScanner() });

const isClosed = (extent: Extent): boolean => read(extent).scanner.isClosed();

/** Reads each character once, however often it is asked. */
function read(extent: Extent): Extent {
  const { unread } = extent;
  if (unread === "") return extent;
  extent.unread = "";
  extent.length += unread.length;
  extent.sum = summed(extent.sum, unread);
  extent.scanner.follow(unread);
  return extent;
}

function summed(sum: number, text: string): number {
  let all = sum;
  for (let at = 0; at < text.length; at++) all = (Math.imul(all, 31) + text.charCodeAt(at)) | 0;
  return all;
}

/** Whether the arguments of a call have brackets that are still open. */
const isOpen = (slot: Slot | undefined): boolean =>
  slot !== undefined && slot.kind !== "custom" && read(slot.extent).scanner.isOpen();

/** A name may be repeated, sent so far each time, or sent in pieces. */
function joinName(known: string, piece: string): string {
  if (known === piece) return known;
  return piece.startsWith(known) ? piece : known + piece;
}

/** Chat has two kinds of call; whatever else an upstream writes there, it means the first. */
const kindOf = (kind: string | null | undefined): string =>
  kind === "custom" ? "custom" : "function";

const isBlank = (text: string | null | undefined): text is "" | null | undefined =>
  text === undefined || text === null || text === "";

/** Whether every call has an index of its own. */
export const areNumbered = (calls: readonly unknown[]): boolean =>
  new Set(calls.flatMap((call) => indexOf(fieldsOf(call)?.index) ?? [])).size === calls.length;

/** A piece of a call as it stands in `tool_calls`; `place`: its number, whatever it says itself. */
export function fragmentOf(raw: Fields, at: number, place: number | undefined): Fragment {
  const custom = fieldsOf(raw.custom);
  const body = fieldsOf(raw.function) ?? custom ?? raw;
  const { index, id, type } = raw;
  return {
    index: place ?? indexOf(index),
    id: typeof id === "number" ? String(id) : wordOf(id),
    kind: wordOf(type) ?? (custom === undefined ? undefined : "custom"),
    name: wordOf(body.name),
    input: body.arguments === undefined ? body.input : body.arguments,
    notFirst: at > 0,
    extra: vendorFieldsOf(raw),
  };
}

/** A number, also where it is written as a text. */
function indexOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,4}$/.test(value) ? Number(value) : undefined;
}

const callFields = new Set("index id type function custom name arguments input".split(" "));

/** Fields of a call that are a provider's own. */
function vendorFieldsOf(raw: Fields): Fields | undefined {
  let extra: Record<string, unknown> | undefined;
  for (const key of Object.keys(raw))
    if (!callFields.has(key) && raw[key] != null) (extra ??= {})[key] = raw[key];
  return extra;
}

const called = { name: "filled" } as const;

/** Whether the beginning of a call is as the OpenAI API writes it. */
function hasOwnHeader(raw: Fields): boolean {
  if (typeof raw.id !== "string" || raw.id === "") return false;
  const body = raw.type === "custom" || raw.type === "function" ? bodyOf(raw, raw.type) : undefined;
  if (body === undefined || !hasShape(body, called)) return false;
  const input = body[inputField(raw.type)];
  return input === undefined ? body.input === undefined : typeof input === "string";
}

/** The fields of a call of one kind, unless it has those of another, too. */
function bodyOf({ function: named, custom }: Fields, kind: string): Fields | undefined {
  const [own, other] = kind === "custom" ? [custom, named] : [named, custom];
  const isOwn =
    other === undefined && isFields(own) && (kind !== "custom" || own.arguments === undefined);
  return isOwn ? own : undefined;
}

const inputField = (kind: unknown): string => (kind === "custom" ? "input" : "arguments");

/** The input in a call that is as the OpenAI API writes it. */
const inputOf = ({ function: named, custom }: Fields): string =>
  ((named as Fields | undefined)?.arguments ??
    (custom as Fields | undefined)?.input ??
    "") as string;

/** Whether the arguments of a function have open brackets. */
function isOpenText({ type }: Fields, text: string): boolean {
  if (type === "custom") return false;
  const scanner = new JsonScanner();
  scanner.follow(text);
  return scanner.isOpen();
}

/** A word, or how its absence was written. */
const wordOf = (value: unknown): string | null | undefined =>
  typeof value === "string" || value === null ? value : undefined;

/** A call, or a piece of its input, that stands among the parts of the content. */
export function callInPart(raw: unknown): Fragment | undefined {
  const part = fieldsOf(raw);
  switch (part?.type) {
    case "tool_use":
    case "tool_call":
    case "function_call": {
      const { id, call_id: callId, name } = part;
      const input = part.input ?? part.arguments;
      return {
        id: filledText(callId) ?? filledText(id),
        kind: "function",
        name: filledText(name),
        // Nothing yet: the input follows, or there is none.
        input: isEmptyObject(input) ? undefined : input,
      };
    }
    case "input_json_delta":
      return { input: part.partial_json };
    default:
      return undefined;
  }
}

const isEmptyObject = (value: unknown): boolean =>
  isFields(value) && Object.keys(value).length === 0;
