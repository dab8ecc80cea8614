/** Restores the reasoning before calls for clients that do not send it back. */

import type { StoredItem, Weigh } from "../../history/log.ts";
import type { Stage } from "../../stream/stage.ts";
import { isOpenTo, keptReasoning } from "../../tools/plan/reasoning.ts";
import type { Decision } from "../../turn/decision.ts";
import type { ReasoningEnd, TurnEvent } from "../../turn/event.ts";
import { isByModel } from "../../turn/item.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { ClientName } from "../../turn/names.ts";
import { itemPath, itemPlace } from "../../turn/path.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Item, Reasoning, Turn } from "../../turn/turn.ts";
import { routeFor, wantsThoughts } from "./select.ts";
import type { GatewayState } from "../state.ts";

/** Reasoning before a call; `isBehindText`: text of the same answer came before it. */
type Thought = { readonly item: Reasoning; readonly isBehindText: boolean };

/** The id of the note with the thoughts before a call. */
const keyOf = (dialect: string, call: string, before: number): string =>
  `thoughts:${dialect}:${before.toString(36)}:${call}`;

/** Longer ids of calls are random; shorter ones may come again in other conversations. */
const RANDOM_ID = 20;

/**
 * A hash of the messages and results before a call. It tells conversations apart in which an
 * upstream gives the same ids to calls. Of long texts it has the length and both ends.
 */
function requestHash(before: number, item: Item): number {
  if (item.type !== "result" && (item.type !== "message" || item.role !== "user")) return before;
  let hash = before;
  for (const part of item.parts) {
    const text = "text" in part ? part.text : part.type;
    for (const piece of [String(text.length), text.slice(0, 32), text.slice(-32)])
      for (let at = 0; at < piece.length; at++)
        hash = Math.imul(hash ^ piece.charCodeAt(at), 0x01000193) >>> 0;
  }
  return hash;
}

/**
 * The most calls for which thoughts are looked up, from the first of a conversation on: restored
 * thoughts must be restored again, because later ones are bound to them.
 */
const MOST_CALLS = 1024;

type State = Pick<GatewayState, "store" | "config" | "upstreams" | "modelRoutes">;

/** A turn with the thoughts that its client left out and the store has; the same turn if none are missing. */
export function withThoughts(
  state: State,
  { tenant, weigh }: { readonly tenant: Tenant; readonly weigh: Weigh },
  turn: Turn,
): Turn | Promise<Turn> {
  const missing = callsWithout(turn);
  if (missing.length === 0) return turn;
  const [link] = routeFor(state, turn.model).chain;
  if (!wantsThoughts(link.profile)) return turn;
  const ids = missing.slice(0, MOST_CALLS);
  let refusal: unknown;
  const weighed: Weigh = (bytes) => {
    try {
      weigh(bytes);
    } catch (error) {
      refusal = error;
      throw error;
    }
  };
  const maxBytes = state.config.server.body_limit;
  return state.store.find({ of: "notes", tenant, ids, maxBytes }, weighed).then(
    (found) =>
      found.type === "found"
        ? putBack(turn, found.items, (item) => isOpenTo(item, link.name))
        : turn,
    (error: unknown) => {
      if (error === refusal) throw error;
      // The model answers without its thoughts.
      return turn;
    },
  );
}

/** The keys of calls without sealed reasoning before them. */
function callsWithout({ items, dialect }: Turn): readonly string[] {
  let isKnown = false;
  let before = 0;
  const keys: string[] = [];
  for (const item of items) {
    before = requestHash(before, item);
    if (item.type === "reasoning") isKnown ||= isSealed(item);
    else if (item.type === "call" && !isKnown) keys.push(keyOf(dialect, item.id, before));
    if (item.type === "call" || !isByModel(item)) isKnown = false;
  }
  return keys;
}

const isSealed = ({ encrypted, details }: Reasoning): boolean =>
  encrypted !== undefined || details !== undefined;

function putBack(
  turn: Turn,
  kept: ReadonlyMap<string, StoredItem>,
  isOpen: (item: Reasoning) => boolean,
): Turn {
  const items: Item[] = [];
  const places: number[] = [];
  const paths: string[] = [];
  const add = (item: Item, at: number): void => {
    items.push(item);
    places.push(itemPlace(turn, at));
  };
  /** Places of the model's items since its last call: thoughts come before or after them. */
  let said: number[] = [];
  const say = (isKept: (item: Item) => boolean): void => {
    for (const at of said) {
      const item = turn.items[at];
      if (item !== undefined && isKept(item)) add(item, at);
    }
    said = [];
  };
  let before = 0;
  for (const [at, item] of turn.items.entries()) {
    before = requestHash(before, item);
    if (item.type !== "call" && isByModel(item)) {
      said.push(at);
      continue;
    }
    const thoughts =
      item.type === "call"
        ? thoughtsIn(kept.get(keyOf(turn.dialect, item.id, before)), isOpen)
        : none;
    if (thoughts.length > 0) paths.push(itemPath(turn, at));
    for (const thought of thoughts) if (!thought.isBehindText) add(thought.item, at);
    // The client's copies of the same thoughts are neither signed nor sealed.
    say(({ type }) => thoughts.length === 0 || type !== "reasoning");
    for (const thought of thoughts) if (thought.isBehindText) add(thought.item, at);
    add(item, at);
  }
  say(() => true);
  return paths.length === 0 ? turn : { ...turn, items, places, repairs: repaired(turn, paths) };
}

/** One decision for all calls, at the first: a long conversation has hundreds. */
function repaired({ repairs = [] }: Turn, paths: readonly string[]): readonly Decision[] {
  const [path = ""] = paths;
  const reason = `the model's thoughts before ${paths.length} of its calls are restored, because the client did not send them`;
  return [...repairs, { path, action: "repaired", reason }];
}

const none: readonly Thought[] = [];

function thoughtsIn(
  kept: StoredItem | undefined,
  isOpen: (item: Reasoning) => boolean,
): readonly Thought[] {
  const read = kept === undefined ? undefined : jsonOf(kept.json);
  if (!Array.isArray(read)) return none;
  return (read as unknown[]).filter(isThought).filter(({ item }) => isOpen(item));
}

const isThought = (value: unknown): value is Thought => isFields(value) && isFields(value.item);

type Event = TurnEvent<ClientName>;

/**
 * Thoughts are bound to everything before them, so only those are kept that can be restored in
 * their place. A client sends the texts before a call back as one text; if text and calls are one
 * message, it sends all texts before all calls. No thought after one whose place is lost is kept.
 */
export class ThoughtKeeper implements Stage<Event, Event> {
  readonly #turn: Turn;
  /** The hash of the request. */
  readonly #before: number;
  /** The name of the current upstream, as `upstream/model`. */
  readonly #origin: () => string;
  readonly #kept: { readonly call: string; readonly thoughts: readonly Thought[] }[] = [];
  /** Since the last call. */
  #thoughts: Thought[] = [];
  #texts = 0;
  #isInText = false;
  #isLost = false;
  #summary: string[] = [];
  #content: string[] = [];

  constructor(turn: Turn, origin: () => string) {
    this.#turn = turn;
    this.#before = turn.items.reduce(requestHash, 0);
    this.#origin = origin;
  }

  each(event: Event, emit: (event: Event) => void): void {
    switch (event.type) {
      case "reasoning-start":
        this.#isInText = false;
        this.#summary = [];
        this.#content = [];
        break;
      case "reasoning-delta": {
        const parts = event.of === "content" ? this.#content : this.#summary;
        parts[event.part] = (parts[event.part] ?? "") + event.text;
        break;
      }
      case "reasoning-end":
        this.#think(event);
        break;
      case "text-delta":
        this.#say();
        break;
      case "item-start":
        this.#isLost = true;
        break;
      case "call-start":
        this.#kept.push({ call: event.id, thoughts: this.#thoughts });
        this.#thoughts = [];
        this.#texts = 0;
        this.#isInText = false;
        this.#isLost ||= this.#turn.traits.callsInMessage;
        break;
      default:
    }
    emit(event);
  }

  /** The thoughts of the answer, by the calls that they led to. */
  items(): readonly StoredItem[] {
    const { dialect } = this.#turn;
    // An empty list replaces the thoughts before an earlier call of the same id.
    return this.#kept
      .filter(({ call, thoughts }) => thoughts.length > 0 || call.length < RANDOM_ID)
      .map(({ call, thoughts }) => ({
        id: keyOf(dialect, call, this.#before),
        json: JSON.stringify(thoughts),
      }));
  }

  #say(): void {
    if (this.#isInText) return;
    this.#isInText = true;
    this.#texts++;
    const isMoved = this.#turn.traits.callsInMessage && this.#kept.length > 0;
    if (this.#texts === 1 && !isMoved) return;
    // The client will send this text back joined with the one before.
    this.#isLost = true;
    this.#thoughts = this.#thoughts.filter(({ isBehindText }) => !isBehindText);
    if (isMoved) this.#keepFirst();
  }

  /** Only thoughts before the first text still have their place. */
  #keepFirst(): void {
    const [first] = this.#kept;
    if (first === undefined) return;
    const thoughts = first.thoughts.filter(({ isBehindText }) => !isBehindText);
    this.#kept[0] = { ...first, thoughts };
  }

  #think({ encrypted, details, extra, complete }: ReasoningEnd): void {
    if (complete === false) this.#isLost = true;
    if (this.#isLost) return;
    const summary = Array.from(this.#summary, (text) => text ?? "");
    const content = Array.from(this.#content, (text) => text ?? "");
    const thought: Reasoning = { type: "reasoning", summary, content, encrypted, details, extra };
    const item = keptReasoning(thought, this.#origin());
    this.#thoughts.push({ item, isBehindText: this.#texts > 0 });
  }
}
