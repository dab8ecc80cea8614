import type { NewId } from "../turn/clock.ts";
import type { CallDelta, CallStart } from "../turn/event.ts";
import { upstreamName, type UpstreamName } from "../turn/names.ts";
import type { Fields } from "../turn/turn.ts";
import type { Emit } from "./stage.ts";

/** A piece of a call as chat upstreams send them: any of it may be missing, null or empty. */
export type Fragment = {
  readonly index?: number | null | undefined;
  readonly id?: string | null | undefined;
  readonly kind?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** Text, or the arguments as a value where an upstream does not encode them. */
  readonly input?: unknown;
  /** Another piece came before it in the same chunk. */
  readonly beside?: boolean | undefined;
  /** What else came with it, such as a signature to be given back with the call. */
  readonly extra?: Fields | undefined;
};

type Slot = {
  readonly call: number;
  /** What the client is told. */
  readonly id: string;
  /** What the upstream said last. */
  given: string;
  kind: string;
  name: string;
  /** Held until the name is known to be whole. */
  held: string;
  started: boolean;
  empty: boolean;
  extra: Fields | undefined;
  readonly extent: Extent;
};

type CallEvents = Emit<CallStart<UpstreamName> | CallDelta>;

export type Assembly = {
  each(fragment: Fragment, emit: CallEvents): void;
  /** A fragment known to be nothing but more text of a call that has started. */
  more(call: number, text: string, emit: CallEvents): void;
  /** The choice is over: starts calls that never had arguments. */
  end(emit: CallEvents): void;
  /** The call the last fragment went to, if it has started. */
  last(): number | undefined;
  made(): boolean;
  /** Whether a call has been heard of and cannot be told of yet. */
  waiting(): boolean;
  /** Whether a call never got its name: nobody can answer it. */
  nameless(): boolean;
  /** Whether the arguments of a call have brackets that are still open. */
  unclosed(): boolean;
  /** True if the fragments so far were not what the OpenAI API would have sent. */
  repaired(): boolean;
};

/**
 * Puts the calls of one choice together from fragments. A fragment belongs to
 * the call of its index, else of its id, else to the last one; see `isNext` for
 * when it opens a new call all the same. The name may come late or in pieces,
 * so a call starts with its first argument or at its end.
 */
export function assembleCalls(choice: number, newId: NewId): Assembly {
  const slots: Slot[] = [];
  const byIndex = new Map<number, Slot>();
  const byId = new Map<string, Slot>();
  let last: Slot | undefined;
  let waiting = 0;
  let repaired = false;

  const open = (fragment: Fragment): Slot => {
    const { index, kind } = fragment;
    const given = fragment.id ?? "";
    const taken = given === "" || byId.has(given);
    if (taken || index !== slots.length || kind == null) repaired = true;
    const slot: Slot = {
      call: slots.length,
      id: taken ? newId("call") : given,
      given,
      kind: kindOf(kind),
      name: "",
      held: "",
      started: false,
      empty: true,
      extra: undefined,
      extent: newExtent(),
    };
    waiting++;
    slots.push(slot);
    return slot;
  };

  const find = (fragment: Fragment): Slot | undefined => {
    const { index } = fragment;
    const known = fragment.id == null || fragment.id === "" ? undefined : byId.get(fragment.id);
    if (typeof index !== "number") {
      const slot = known ?? last;
      return slot === undefined || isNext(slot, fragment) ? undefined : slot;
    }
    const slot = byIndex.get(index);
    // Two calls under one index take turns by id; one id under two indexes is two calls.
    if (known !== undefined && (slot !== undefined || isBlank(fragment.name)))
      return isNext(known, fragment) ? undefined : known;
    return slot === undefined || isNext(slot, fragment) ? undefined : slot;
  };

  const start = (slot: Slot, emit: CallEvents): void => {
    // Once a later call has begun, nothing more comes to the names of earlier ones.
    if (waiting > 1)
      for (const earlier of slots.slice(0, slot.call)) if (isReady(earlier)) begin(earlier, emit);
    begin(slot, emit);
  };
  const begin = (slot: Slot, emit: CallEvents): void => {
    slot.started = true;
    waiting--;
    const { call, id, kind, extra } = slot;
    emit({
      type: "call-start",
      choice,
      call,
      id,
      kind,
      name: upstreamName(slot.name),
      ...(extra !== undefined && { extra: { dialect: "chat", fields: extra } as const }),
    });
    if (slot.held !== "") emit({ type: "call-delta", choice, call, text: slot.held });
    slot.held = "";
  };

  const add = (slot: Slot, text: string, emit: CallEvents): void => {
    slot.empty = false;
    slot.extent.unread += text;
    // A string of a million pieces takes far more room than its text.
    if (slot.extent.unread.length > 4096) read(slot.extent);
    if (slot.started) emit({ type: "call-delta", choice, call: slot.call, text });
    else slot.held += text;
  };

  /** Whether a fragment to a known call says more than the OpenAI API would. */
  const isOdd = (slot: Slot, { index, id, name, kind }: Fragment): boolean =>
    index !== slot.call ||
    id !== undefined ||
    name !== undefined ||
    (kind !== undefined && kind !== slot.kind);

  return {
    each(fragment, emit) {
      const { index, id, kind, name, input } = fragment;
      const text = inputText(input);
      if (input !== undefined && typeof input !== "string") repaired = true;
      let slot = find(fragment);
      if (slot === undefined) {
        if (isBlank(id) && isBlank(name) && text === "") {
          repaired = true;
          return;
        }
        slot = open(fragment);
      } else if (isOdd(slot, fragment)) repaired = true;
      last = slot;
      if (typeof index === "number") byIndex.set(index, slot);
      if (!isBlank(id)) byId.set((slot.given = id), slot);
      if (!slot.started) {
        if (fragment.extra !== undefined) slot.extra = { ...slot.extra, ...fragment.extra };
        if (!isBlank(kind)) slot.kind = kindOf(kind);
        if (!isBlank(name)) slot.name = joinName(slot.name, name);
      }
      if (kind != null && kind !== slot.kind) repaired = true;
      if (text !== "") add(slot, text, emit);
      if (isReady(slot) && slot.held !== "") start(slot, emit);
    },
    more(call, text, emit) {
      const slot = slots[call];
      if (slot !== undefined) add(slot, text, emit);
    },
    end(emit) {
      for (const slot of slots) {
        if (slot.empty) repaired = true;
        if (isReady(slot)) begin(slot, emit);
      }
    },
    last: () => (last?.started === true ? last.call : undefined),
    made: () => slots.length > 0,
    waiting: () => waiting > 0,
    nameless: () => slots.some((slot) => slot.name === ""),
    unclosed: () => slots.some((slot) => slot.kind !== "custom" && read(slot.extent).depth > 0),
    repaired: () => repaired,
  };
}

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
  if (fragment.beside === true && !hasIndex && id !== slot.given) return true;
  const otherName = name !== slot.name;
  const otherId = !isBlank(id) && slot.given !== "" && id !== slot.given;
  if (otherId && (otherName || slot.kind === "custom")) return true;
  if (slot.empty) return !hasIndex && (otherId || (otherName && !name.startsWith(slot.name)));
  if (slot.kind === "custom" || !isClosed(slot.extent)) return false;
  return otherId || otherName || inputText(fragment.input).trim() !== "";
}

/** How far a JSON text has got. What was not read yet waits, since the question is rare. */
type Extent = {
  unread: string;
  opened: boolean;
  depth: number;
  quoted: boolean;
  escaped: boolean;
};

const newExtent = (): Extent => ({
  unread: "",
  opened: false,
  depth: 0,
  quoted: false,
  escaped: false,
});

/** Whether every bracket is closed again. */
function isClosed(extent: Extent): boolean {
  const { opened, depth } = read(extent);
  return opened && depth <= 0;
}

/** Reads each character once, however often it is asked. */
function read(extent: Extent): Extent {
  const { unread } = extent;
  extent.unread = "";
  for (let at = 0; at < unread.length; at++) {
    const char = unread.charCodeAt(at);
    if (extent.escaped) extent.escaped = false;
    else if (extent.quoted) {
      if (char === 0x5c) extent.escaped = true;
      else if (char === 0x22) extent.quoted = false;
    } else if (char === 0x22) extent.quoted = true;
    else if (char === 0x7b || char === 0x5b) {
      extent.opened = true;
      extent.depth++;
    } else if (char === 0x7d || char === 0x5d) extent.depth--;
  }
  return extent;
}

/** Whether a call can be told of, as far as we know. */
const isReady = (slot: Slot): boolean => !slot.started && slot.name !== "";

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

function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  return input === undefined || input === null ? "" : JSON.stringify(input);
}
