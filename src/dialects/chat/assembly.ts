/** Assembles the calls of a chat answer from the fragments that upstreams send. */

import { JsonScanner } from "../../json/scan.ts";
import { checkHeld } from "../../stream/length-limit.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { CallDelta, CallStart } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText, inputText, numberOf } from "../shared/loose.ts";

/** A piece of a call. Texts that an upstream left out, or wrote as null, are empty. */
export type Fragment = {
  readonly index?: number | undefined;
  readonly id: string;
  readonly kind: "function" | "custom" | "";
  readonly name: string;
  readonly input: string;
  /** True if another fragment came before it in the same chunk. */
  readonly notFirst: boolean;
  /** Fields that only the provider knows, such as a signature to send back with the call. */
  readonly extra?: Fields | undefined;
};

/** The size that a call counts beside its characters until it has begun. */
const PENDING = 64;
/** A text of a million pieces takes far more memory than its characters, so pieces are scanned early. */
const MOST_UNREAD = 4096;

/** A call that is still growing. Its input is scanned only if another call could begin, which is rare. */
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
  /** True until input comes; arguments that are only blanks do not count. */
  isEmpty = true;
  extra: Fields | undefined;
  #unread = "";
  /** The length and the checksum of the scanned input. */
  #length = 0;
  #sum = 0;
  #scanner: JsonScanner | undefined;

  constructor(index: number, id: string, { id: given, kind }: Fragment) {
    this.index = index;
    this.id = id;
    this.given = given;
    this.kind = kind || "function";
  }

  add(text: string): void {
    this.#unread += text;
    if (this.#unread.length > MOST_UNREAD) this.#scan();
  }

  isOpen(): boolean {
    return this.kind !== "custom" && this.#scan().isOpen();
  }

  isClosed(): boolean {
    return this.kind !== "custom" && this.#scan().isClosed();
  }

  /**
   * True if a fragment that found this call by index, id or position opens the next call instead.
   * Only a fragment with a name can. Ids rotate and headers are repeated while a call lasts, so the
   * arguments decide: once they are closed, nothing can be added to them.
   */
  isEndedBy(fragment: Fragment): boolean {
    const { name, id, index } = fragment;
    if (this.name === "") return false;
    if (fragment.notFirst && index === undefined && (id === "" || id !== this.given)) return true;
    const otherName = name !== this.name;
    const otherId = id !== "" && this.given !== "" && id !== this.given;
    if (otherId && (otherName || this.kind === "custom")) return true;
    if (this.isEmpty)
      return index === undefined && (otherId || (otherName && !name.startsWith(this.name)));
    if (!this.isClosed()) return false;
    return otherId || otherName || (fragment.input.trim() !== "" && !this.isRepeatedBy(fragment));
  }

  /** True if a fragment repeats the whole call, as some upstreams do at the end. */
  isRepeatedBy({ id, name, input }: Fragment): boolean {
    if (id === "" || id !== this.given || name !== this.name) return false;
    const isAsLong = input.length === this.#length + this.#unread.length;
    return isAsLong && this.isClosed() && checksum(0, input) === this.#sum;
  }

  /** Reads each character once. */
  #scan(): JsonScanner {
    this.#scanner ??= new JsonScanner();
    const text = this.#unread;
    if (text === "") return this.#scanner;
    this.#unread = "";
    this.#length += text.length;
    this.#sum = checksum(this.#sum, text);
    this.#scanner.follow(text);
    return this.#scanner;
  }
}

function checksum(start: number, text: string): number {
  let sum = start;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) | 0;
  return sum;
}

/**
 * The calls of one choice. A fragment belongs to the call of its index, else of its id, else to the
 * last one, unless it ends that call (`isEndedBy`). The name may come late or in pieces, so a call
 * begins with its first argument or at its end.
 */
export class CallAssembly {
  /** The number of calls, of those that were emitted, and of those without input. */
  count = 0;
  begun = 0;
  empty = 0;
  readonly #choice: number;
  readonly #newId: NewId;
  readonly #emit: Emit<CallStart<UpstreamName> | CallDelta>;
  readonly #calls: PendingCall[] = [];
  readonly #byIndex = new Map<number, PendingCall>();
  readonly #byId = new Map<string, PendingCall>();
  #last: PendingCall | undefined;
  /** The last call that could begin: they begin in their order. */
  #due = -1;
  /** The call that was emitted last. */
  #current: PendingCall | undefined;
  /** The repeated header of a complete call: a mere repetition, or the header of the next call. */
  #header: { readonly of: PendingCall; readonly fragment: Fragment } | undefined;
  #heldLength = 0;

  constructor(choice: number, newId: NewId, emit: Emit<CallStart<UpstreamName> | CallDelta>) {
    this.#choice = choice;
    this.#newId = newId;
    this.#emit = emit;
  }

  /** True if a list of calls, or of one fragment, is as the OpenAI API writes it and no call waits. */
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
    // The call begins now: those before it must have begun and be complete.
    return index === this.begun && this.#current?.isOpen() !== true;
  }

  each(fragment: Fragment): void {
    const { id, name, input } = fragment;
    let call = this.#find(fragment);
    const header = this.#header;
    if (call !== undefined && header?.of === call && name === "" && input.trim() !== "") {
      // Nothing can be added to a complete call, so this is another call of that name.
      call = this.#open(header.fragment);
      this.#learn(call, header.fragment);
    }
    if (call === undefined) {
      if (id === "" && name === "" && input === "") return;
      call = this.#open(fragment);
    }
    const repeatsHeader =
      name !== "" && name === call.name && input.trim() === "" && call.isClosed();
    this.#header = repeatsHeader ? { of: call, fragment } : undefined;
    this.#learn(call, fragment);
    if (input !== "" && (id === "" || call.isEmpty || !call.isRepeatedBy(fragment)))
      this.#add(call, input);
    if (call.held !== "" && call.name !== "") this.#due = Math.max(this.#due, call.index);
    // Clients read one call at a time, so the others wait while the arguments of one are open. Once a
    // call has arguments, the names of the calls before it are complete.
    while (this.begun <= this.#due) {
      const next = this.#calls[this.begun];
      if (next === undefined || next.name === "" || this.#current?.isOpen() === true) return;
      this.#begin(next);
    }
  }

  /**
   * Begins the calls that never had arguments, or waited for others, when the choice has ended.
   * False if a call never got its name: no client can answer it.
   */
  end(): boolean {
    while (this.begun < this.count) {
      const call = this.#calls[this.begun];
      if (call === undefined || call.name === "") return false;
      this.#begin(call);
    }
    return true;
  }

  unclosed(): readonly number[] {
    return this.#calls.filter((call) => call.isOpen()).map(({ index }) => index);
  }

  #find(fragment: Fragment): PendingCall | undefined {
    const { id, index, name } = fragment;
    const known = id === "" ? undefined : this.#byId.get(id);
    let found = known ?? this.#last;
    if (index !== undefined) {
      const numbered = this.#byIndex.get(index);
      // Two calls under one index take turns by id; one id under two indexes is two calls.
      found = known !== undefined && (numbered !== undefined || name === "") ? known : numbered;
      const given = this.#last?.given ?? "";
      // Two fragments of one chunk and index may be of two calls.
      const isTwin = fragment.notFirst && id !== "" && name !== "" && id !== given;
      if (isTwin && given !== "" && found === this.#last) return undefined;
    }
    return name !== "" && found?.isEndedBy(fragment) === true ? undefined : found;
  }

  #open(fragment: Fragment): PendingCall {
    const { id } = fragment;
    const own = id === "" || this.#byId.has(id) ? this.#newId("call") : id;
    const call = new PendingCall(this.count++, own, fragment);
    this.#calls.push(call);
    this.empty++;
    this.#hold(PENDING);
    return call;
  }

  #learn(call: PendingCall, { index, id, kind, name, extra }: Fragment): void {
    this.#last = call;
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== "") this.#byId.set((call.given = id), call);
    if (call.index < this.begun) return;
    if (extra !== undefined) call.extra = { ...call.extra, ...extra };
    if (kind !== "") call.kind = kind;
    if (name === "") return;
    const known = call.name;
    // A name may be repeated, sent so far each time, or sent in pieces.
    call.name = name.startsWith(known) ? name : known + name;
    this.#hold(call.name.length - known.length);
  }

  #hold(length: number): void {
    this.#heldLength += length;
    checkHeld(this.#heldLength);
  }

  #begin(call: PendingCall): void {
    this.begun++;
    this.#current = call;
    const choice = this.#choice;
    const { index, id, kind, extra, held } = call;
    this.#heldLength -= PENDING + call.name.length + held.length;
    this.#emit({
      type: "call-start",
      choice,
      call: index,
      id,
      kind,
      name: upstreamName(call.name),
      ...(extra !== undefined && { extra: { dialect: "chat", fields: extra } as const }),
    });
    if (held !== "") this.#emit({ type: "call-delta", choice, call: index, text: held });
    call.held = "";
  }

  #add(call: PendingCall, text: string): void {
    if (call.isEmpty && (call.kind === "custom" || text.trim() !== "")) {
      call.isEmpty = false;
      this.empty--;
    }
    call.add(text);
    if (call.index >= this.begun) {
      call.held += text;
      return this.#hold(text.length);
    }
    this.#current = call;
    this.#emit({ type: "call-delta", choice: this.#choice, call: call.index, text });
  }
}

/** True if the calls of a whole answer are as the OpenAI API writes them. */
function areWhole(list: readonly unknown[]): boolean {
  const ids = new Set<unknown>();
  return list.every((entry, at) => {
    const raw = fieldsOf(entry);
    if (raw === undefined || !hasOwnHeader(raw) || ids.has(raw.id)) return false;
    ids.add(raw.id);
    if (raw.index !== undefined && raw.index !== at) return false;
    const input = ownInput(raw, raw.type);
    if (input === undefined || input.trim() === "") return false;
    if (at + 1 === list.length || raw.type === "custom") return true;
    const scanner = new JsonScanner();
    scanner.follow(input);
    return !scanner.isOpen();
  });
}

/** True if the id, the type and the name of a call are as the OpenAI API writes them. */
function hasOwnHeader({ id, type, function: named, custom }: Fields): boolean {
  const body = type === "custom" ? custom : type === "function" ? named : undefined;
  return filledText(id) !== undefined && filledText(fieldsOf(body)?.name) !== undefined;
}

/** The input in a call of a kind; undefined if it is not as the OpenAI API writes it. */
function ownInput({ function: named, custom }: Fields, kind: unknown): string | undefined {
  const isCustom = kind === "custom";
  const body = fieldsOf(isCustom ? custom : named);
  if (body === undefined || (isCustom ? named : custom) !== undefined) return undefined;
  const [text = "", other] = isCustom ? [body.input, body.arguments] : [body.arguments, body.input];
  return typeof text === "string" && other === undefined ? text : undefined;
}

export const areNumbered = (calls: readonly unknown[]): boolean =>
  new Set(calls.flatMap((call) => fragmentOf(fieldsOf(call) ?? {}, false).index ?? [])).size ===
  calls.length;

/** Reads an entry of `tool_calls`. */
export function fragmentOf(raw: Fields, notFirst: boolean): Fragment {
  const custom = fieldsOf(raw.custom);
  const body = fieldsOf(raw.function) ?? custom ?? raw;
  const { index, id, type } = raw;
  const kind = filledText(type) ?? (custom === undefined ? "" : "custom");
  let extra: Record<string, unknown> | undefined;
  for (const key in raw)
    if (!callFields.has(key) && raw[key] != null) (extra ??= {})[key] = raw[key];
  return {
    index: typeof index === "string" && /^\d{1,4}$/.test(index) ? Number(index) : numberOf(index),
    id: typeof id === "number" ? String(id) : (filledText(id) ?? ""),
    // Any type but `custom` means a function.
    kind: kind === "custom" || kind === "" ? kind : "function",
    name: filledText(body.name) ?? "",
    input: inputText(body.arguments === undefined ? body.input : body.arguments),
    notFirst,
    extra,
  };
}

const callFields = new Set("index id type function custom name arguments input".split(" "));
