/** Puts the calls of a chat answer together from the pieces that upstreams send. */

import { isFields } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import { checkHeld } from "../../stream/length-limit.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { CallDelta, CallStart, Literals } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, inputText } from "../shared/loose.ts";

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

/** What a call that has not begun counts beside its characters. */
const PENDING = 64;
/** A text of a million pieces takes far more room than its characters, so pieces are read in time. */
const MOST_UNREAD = 4096;

/** A call while its pieces come. Its input is scanned only if another call could begin, which is rare. */
class PendingCall {
  readonly index: number;
  /** The id that the client gets. */
  readonly id: string;
  /** The last id that the upstream gave. */
  given: string;
  kind: string;
  name = "";
  /** Input that came before the call could begin. */
  held = "";
  /** Nothing has come as its input, or nothing but blanks as its arguments. */
  isEmpty = true;
  extra: Fields | undefined;
  #unread = "";
  /** The length and the sum of what was scanned. */
  #length = 0;
  #sum = 0;
  #scanner: JsonScanner | undefined;

  constructor(index: number, id: string, given: string, kind: string) {
    this.index = index;
    this.id = id;
    this.given = given;
    this.kind = kind;
  }

  add(text: string): void {
    this.#unread += text;
    if (this.#unread.length > MOST_UNREAD) this.#scan();
  }

  /** Whether the arguments have brackets that are still open. */
  isOpen(): boolean {
    return this.kind !== "custom" && this.#scan().isOpen();
  }

  isClosed(): boolean {
    return this.kind !== "custom" && this.#scan().isClosed();
  }

  /**
   * Whether a fragment that found this call by index, id or position opens the next one instead.
   * Only a fragment with a name can, and then it is the name's and the id's word against the
   * arguments': ids rotate and headers are repeated while a call lasts, but once its arguments are
   * closed nothing can be added.
   */
  isOver(fragment: Fragment): boolean {
    const { name, id } = fragment;
    if (isBlank(name) || this.name === "") return false;
    const hasIndex = typeof fragment.index === "number";
    if (fragment.notFirst === true && !hasIndex && id !== this.given) return true;
    const otherName = name !== this.name;
    const otherId = !isBlank(id) && this.given !== "" && id !== this.given;
    if (otherId && (otherName || this.kind === "custom")) return true;
    if (this.isEmpty) return !hasIndex && (otherId || (otherName && !name.startsWith(this.name)));
    if (!this.isClosed()) return false;
    if (otherId || otherName) return true;
    return inputText(fragment.input).trim() !== "" && !this.isRepeated(fragment);
  }

  /** Whether a fragment repeats the name of this call, which is complete, without arguments. */
  isHeader(fragment: Fragment, text: string): boolean {
    const { name } = fragment;
    return !isBlank(name) && name === this.name && text.trim() === "" && this.isClosed();
  }

  /** Whether a fragment repeats the whole call, as some upstreams do at the end. */
  isRepeated({ id, name, input }: Fragment): boolean {
    if (isBlank(id) || id !== this.given || name !== this.name) return false;
    const text = inputText(input);
    const isAsLong = text.length === this.#length + this.#unread.length;
    return isAsLong && this.isClosed() && summed(0, text) === this.#sum;
  }

  /** Reads each character once. */
  #scan(): JsonScanner {
    this.#scanner ??= new JsonScanner();
    const text = this.#unread;
    if (text === "") return this.#scanner;
    this.#unread = "";
    this.#length += text.length;
    this.#sum = summed(this.#sum, text);
    this.#scanner.follow(text);
    return this.#scanner;
  }
}

type CallEvents = Emit<CallStart<UpstreamName> | CallDelta>;

/**
 * The calls of one choice. A fragment belongs to the call of its index, else of its id, else to the
 * last one; see `isOver` for when it opens a new call all the same. The name may come late or in
 * pieces, so a call starts with its first argument or at its end.
 */
export class CallAssembly {
  /** How many calls there are, how many of them were emitted, and how many have no input. */
  count = 0;
  begun = 0;
  empty = 0;
  readonly #choice: number;
  readonly #newId: NewId;
  readonly #calls: PendingCall[] = [];
  readonly #byIndex = new Map<number, PendingCall>();
  readonly #byId = new Map<string, PendingCall>();
  #last: PendingCall | undefined;
  /** The last call that could begin: they begin in their order. */
  #due = -1;
  /** The call that was emitted last. */
  #current: PendingCall | undefined;
  /** The header of a complete call, sent once more: the same again, or that of the next call. */
  #header: { readonly of: PendingCall; readonly fragment: Fragment } | undefined;
  #heldLength = 0;

  constructor(choice: number, newId: NewId) {
    this.#choice = choice;
    this.#newId = newId;
  }

  /** Whether a list of calls, or of one piece, is as the OpenAI API writes it, and no call waits. */
  fits(list: unknown, isWhole: boolean): boolean {
    if (!Array.isArray(list) || this.#header !== undefined || this.#due >= this.begun) return false;
    if (isWhole) return this.count === 0 && areWhole(list);
    // Some readers look at the first call of a frame only.
    const raw = list.length === 1 ? fieldsOf(list[0]) : undefined;
    if (raw === undefined || typeof raw.index !== "number") return false;
    const { index, id, type } = raw;
    const call = this.#calls[index];
    if (this.#byIndex.get(index) !== call) return false;
    let input: string | undefined;
    if (call === undefined) {
      if (index !== this.count || !hasOwnHeader(raw) || this.#byId.has(String(id))) return false;
      input = ownInput(raw, type);
    } else {
      if (id !== undefined || type !== undefined || call.name === "") return false;
      input = ownInput(raw, call.kind);
      if (input !== undefined && fieldsOf(raw[call.kind])?.name !== undefined) return false;
    }
    if (input === undefined || input === "" || index < this.begun) return input !== undefined;
    // It begins now, and those before it have begun and are complete.
    return index === this.begun && this.#current?.isOpen() !== true;
  }

  /** Reads a list that fits. */
  take(list: readonly Fields[], isWhole: boolean, emit: CallEvents): void {
    for (let at = 0; at < list.length; at++) {
      const raw = list[at] ?? {};
      const index = isWhole ? at : (raw.index as number);
      let call = this.#calls[index];
      if (call === undefined) {
        const { id, type: kind } = raw as { id: string; type: string };
        const { name } = raw[kind] as { name: string };
        call = this.#push(new PendingCall(index, id, id, kind));
        call.name = name;
        call.extra = vendorFieldsOf(raw);
        this.#byIndex.set(index, call);
        this.#byId.set(id, call);
        this.#heldLength += name.length;
      } else if (index >= this.begun) this.#learn(call, { index, extra: vendorFieldsOf(raw) });
      this.#last = call;
      const text = ownInput(raw, call.kind) ?? "";
      if (text === "") continue;
      if (index >= this.begun) {
        this.#due = index;
        this.#begin(call, emit);
      }
      this.#add(call, text, emit);
    }
  }

  /** Reads a fragment of any shape. */
  each(fragment: Fragment, emit: CallEvents): void {
    const { id } = fragment;
    const text = inputText(fragment.input);
    let call = this.#find(fragment);
    const header = text.trim() === "" ? undefined : this.#header;
    if (call !== undefined && header?.of === call && isBlank(fragment.name)) {
      // Nothing can be added to what is over, so this is about another call of that name.
      call = this.#open(header.fragment);
      this.#learn(call, header.fragment);
    }
    if (call === undefined) {
      if (isBlank(id) && isBlank(fragment.name) && text === "") return;
      call = this.#open(fragment);
    }
    this.#header = call.isHeader(fragment, text) ? { of: call, fragment } : undefined;
    this.#learn(call, fragment);
    if (text !== "" && !call.isRepeated(fragment)) this.#add(call, text, emit);
    if (call.held !== "" && call.name !== "") this.#due = Math.max(this.#due, call.index);
    this.#beginDue(emit);
  }

  /** Fragments known to be nothing but more text of a call, while no other call waits. */
  more(index: number, literals: Literals, emit: CallEvents): void {
    const call = this.#calls[index];
    if (call !== undefined) this.#add(call, literals.of, emit, literals);
  }

  /**
   * The choice is over: begins calls that never had arguments, or waited for others. False if a call
   * never got its name: no client can answer it.
   */
  end(emit: CallEvents): boolean {
    while (this.begun < this.count) {
      const call = this.#calls[this.begun];
      if (call === undefined || call.name === "") return false;
      this.#begin(call, emit);
    }
    return true;
  }

  /** The calls whose arguments are open. */
  unclosed(): readonly number[] {
    return this.#calls.filter((call) => call.isOpen()).map(({ index }) => index);
  }

  #find(fragment: Fragment): PendingCall | undefined {
    const { id, index, name, notFirst } = fragment;
    const known = isBlank(id) ? undefined : this.#byId.get(id);
    let found = known ?? this.#last;
    if (typeof index === "number") {
      const numbered = this.#byIndex.get(index);
      // Two calls under one index take turns by id; one id under two indexes is two calls.
      const isKnown = known !== undefined && (numbered !== undefined || isBlank(name));
      found = isKnown ? known : numbered;
      const given = this.#last?.given;
      // Two fragments of one chunk and index may be of two calls.
      const isTwin = notFirst === true && !isBlank(id) && !isBlank(name) && id !== given;
      if (found === this.#last && isTwin && !isBlank(given)) return undefined;
    }
    return found?.isOver(fragment) === true ? undefined : found;
  }

  #open({ id, kind }: Fragment): PendingCall {
    const given = id ?? "";
    const isTaken = given === "" || this.#byId.has(given);
    const own = isTaken ? this.#newId("call") : given;
    return this.#push(new PendingCall(this.count, own, given, kindOf(kind)));
  }

  #push(call: PendingCall): PendingCall {
    this.#calls.push(call);
    this.count++;
    this.empty++;
    this.#hold(PENDING);
    return call;
  }

  #learn(call: PendingCall, { index, id, kind, name, extra }: Fragment): void {
    this.#last = call;
    if (typeof index === "number") this.#byIndex.set(index, call);
    if (!isBlank(id)) this.#byId.set((call.given = id), call);
    if (call.index < this.begun) return;
    if (extra !== undefined) call.extra = { ...call.extra, ...extra };
    if (!isBlank(kind)) call.kind = kindOf(kind);
    if (isBlank(name)) return;
    const known = call.name;
    // A name may be repeated, sent so far each time, or sent in pieces.
    call.name = name.startsWith(known) ? name : known + name;
    this.#hold(call.name.length - known.length);
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
    while (this.begun <= this.#due) {
      const call = this.#calls[this.begun];
      if (call === undefined || call.name === "" || this.#current?.isOpen() === true) return;
      this.#begin(call, emit);
    }
  }

  #begin(call: PendingCall, emit: CallEvents): void {
    this.begun++;
    this.#current = call;
    const choice = this.#choice;
    const { index, id, kind, extra, held } = call;
    this.#heldLength -= PENDING + call.name.length + held.length;
    emit({
      type: "call-start",
      choice,
      call: index,
      id,
      kind,
      name: upstreamName(call.name),
      ...(extra !== undefined && { extra: { dialect: "chat", fields: extra } as const }),
    });
    if (held !== "") emit({ type: "call-delta", choice, call: index, text: held });
    call.held = "";
  }

  #add(call: PendingCall, text: string, emit: CallEvents, literals?: Literals): void {
    const { index } = call;
    if (call.isEmpty && (call.kind === "custom" || text.trim() !== "")) {
      call.isEmpty = false;
      this.empty--;
    }
    call.add(text);
    if (index >= this.begun) {
      call.held += text;
      return this.#hold(text.length);
    }
    this.#current = call;
    const delta = { type: "call-delta", choice: this.#choice, call: index, text } as const;
    emit(literals === undefined ? delta : { ...delta, literals });
  }
}

function summed(sum: number, text: string): number {
  let all = sum;
  for (let at = 0; at < text.length; at++) all = (Math.imul(all, 31) + text.charCodeAt(at)) | 0;
  return all;
}

/** Chat has two kinds of call; whatever else an upstream writes there, it means the first. */
const kindOf = (kind: string | null | undefined): string =>
  kind === "custom" ? "custom" : "function";

const isBlank = (text: string | null | undefined): text is "" | null | undefined =>
  text === undefined || text === null || text === "";

/** Whether the calls of a whole answer are as the OpenAI API writes them. */
function areWhole(list: readonly unknown[]): boolean {
  const ids = new Set<unknown>();
  for (let at = 0; at < list.length; at++) {
    const raw = fieldsOf(list[at]);
    if (raw === undefined || !hasOwnHeader(raw) || ids.has(raw.id)) return false;
    if (raw.index !== undefined && raw.index !== at) return false;
    const input = ownInput(raw, raw.type);
    if (input === undefined || input.trim() === "") return false;
    ids.add(raw.id);
    if (at + 1 === list.length || raw.type === "custom") continue;
    const scanner = new JsonScanner();
    scanner.follow(input);
    if (scanner.isOpen()) return false;
  }
  return true;
}

/** Whether the beginning of a call is as the OpenAI API writes it, but for its input. */
function hasOwnHeader({ id, type, function: named, custom }: Fields): boolean {
  const body = type === "custom" ? custom : type === "function" ? named : undefined;
  const name = fieldsOf(body)?.name;
  return typeof id === "string" && id !== "" && typeof name === "string" && name !== "";
}

/** The input in a call of a kind; undefined if it is not as the OpenAI API writes it. */
function ownInput({ function: named, custom }: Fields, kind: unknown): string | undefined {
  const isCustom = kind === "custom";
  const body = fieldsOf(isCustom ? custom : named);
  if (body === undefined || (isCustom ? named : custom) !== undefined) return undefined;
  const { arguments: input = isCustom ? body.input : "" } = body;
  const isOther = isCustom
    ? body.arguments !== undefined
    : input === "" && body.input !== undefined;
  if (isOther) return undefined;
  return typeof input === "string" ? input : input === undefined ? "" : undefined;
}

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
