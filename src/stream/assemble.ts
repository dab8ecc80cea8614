import type { NewId } from "../turn/clock.ts";
import type { CallDelta, CallStart } from "../turn/event.ts";
import { upstreamName, type UpstreamName } from "../turn/names.ts";
import type { Emit } from "./stage.ts";

/** A piece of a call as chat upstreams send them: any of it may be missing, null or empty. */
export type Fragment = {
  readonly index?: number | null | undefined;
  readonly id?: string | null | undefined;
  readonly kind?: string | null | undefined;
  readonly name?: string | null | undefined;
  /** Text, or the arguments as a value where an upstream does not encode them. */
  readonly input?: unknown;
};

type Slot = {
  readonly call: number;
  id: string;
  kind: string;
  name: string;
  /** Held until the name is known to be whole. */
  held: string;
  started: boolean;
  /** Everything so far, kept only where a repeated header forces the question of a new call. */
  input: string;
};

export type Assembly = {
  each(fragment: Fragment, emit: Emit<CallStart<UpstreamName> | CallDelta>): void;
  /** The choice is over: starts calls that never had arguments. */
  end(emit: Emit<CallStart<UpstreamName> | CallDelta>): void;
  /** True if the fragments so far were not what the OpenAI API would have sent. */
  repaired(): boolean;
};

/**
 * Puts the calls of one choice together from fragments. A fragment belongs to
 * the call of its index, else of its id, else to the last one; a new id with a
 * name opens a new call even under a used index. The name may come late or in
 * pieces, so a call starts with its first argument or at its end.
 */
export function assembleCalls(choice: number, newId: NewId): Assembly {
  const slots: Slot[] = [];
  const byIndex = new Map<number, Slot>();
  const byId = new Map<string, Slot>();
  let last: Slot | undefined;
  let repaired = false;

  const open = (fragment: Fragment): Slot => {
    let id = fragment.id ?? "";
    if (id === "" || byId.has(id)) {
      repaired = true;
      id = newId("call");
    }
    const slot: Slot = {
      call: slots.length,
      id,
      kind: fragment.kind ?? "function",
      name: "",
      held: "",
      started: false,
      input: "",
    };
    if (typeof fragment.index !== "number" || fragment.index !== slot.call) repaired = true;
    slots.push(slot);
    byId.set(id, slot);
    return slot;
  };

  const find = (fragment: Fragment): Slot | undefined => {
    const id = fragment.id ?? "";
    if (typeof fragment.index === "number") {
      const slot = byIndex.get(fragment.index);
      return slot !== undefined && isNext(slot, fragment) ? undefined : slot;
    }
    if (id !== "" && byId.has(id)) return byId.get(id);
    if (id !== "") return undefined;
    return last !== undefined && isNext(last, fragment) ? undefined : last;
  };

  const start = (slot: Slot, emit: Emit<CallStart<UpstreamName> | CallDelta>): void => {
    slot.started = true;
    const { call, id, kind } = slot;
    emit({ type: "call-start", choice, call, id, kind, name: upstreamName(slot.name) });
    if (slot.held !== "") emit({ type: "call-delta", choice, call, text: slot.held });
    slot.held = "";
  };

  return {
    each(fragment, emit) {
      let slot = find(fragment);
      const isNew = slot === undefined;
      slot ??= open(fragment);
      last = slot;
      if (typeof fragment.index === "number") byIndex.set(fragment.index, slot);
      if (!isNew && (fragment.id ?? "") !== "" && fragment.id !== slot.id) repaired = true;
      if (fragment.kind != null && fragment.kind !== "" && !slot.started) slot.kind = fragment.kind;
      if (isNew && fragment.kind == null) repaired = true;

      const name = fragment.name ?? "";
      if (name !== "" && !slot.started) {
        if (!isNew) repaired = true;
        slot.name = joinName(slot.name, name);
      } else if (fragment.name != null && !isNew) repaired = true;

      const text = inputText(fragment.input);
      if (typeof fragment.input !== "string" && fragment.input !== undefined) repaired = true;
      if (text === "") return;
      slot.input += text;
      if (slot.started) return emit({ type: "call-delta", choice, call: slot.call, text });
      slot.held += text;
      if (slot.name !== "") start(slot, emit);
    },
    end(emit) {
      for (const slot of slots) if (!slot.started) start(slot, emit);
    },
    repaired: () => repaired,
  };
}

/**
 * Whether a fragment that found a call by index or position opens the next one
 * instead. Only a fragment with a name can; and one that repeats what its call
 * was opened with is a new call only if that call has all its arguments.
 */
function isNext(slot: Slot, fragment: Fragment): boolean {
  const name = fragment.name ?? "";
  const id = fragment.id ?? "";
  if (name === "" || slot.name === "" || slot.input === "") return false;
  if (id === slot.id) return false;
  return isJson(slot.input);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // The question was whether it parses.
  }
}

/** A name may be repeated, sent so far each time, or sent in pieces. */
function joinName(known: string, piece: string): string {
  if (known === piece || known.startsWith(piece)) return known;
  return piece.startsWith(known) ? piece : known + piece;
}

function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  return input === undefined || input === null ? "" : JSON.stringify(input);
}
