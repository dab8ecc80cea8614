import type { CallDetail, CallOutcome } from "../../observe/happening.ts";
import type { CallDelta, CallEnd, CallStart } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Writable } from "../../turn/writable.ts";

/** What a list of calls needs of the turn it is about. */
type CallOwner = {
  now(): number;
  reach(step: "call", ms: number): void;
  /** The call at this place of `details` is over. */
  callEnded(at: number): void;
};

/** The first calls of a turn are kept by themselves; the figures count all of them. */
const MOST_CALLS = 64;
/** Names are a client's or a model's words, of any length. */
const LONGEST_NAME = 128;

/** Lists the calls of a turn while they go by: what was called, and what became of it. */
export class CallList {
  readonly #owner: CallOwner;
  readonly details: Writable<CallDetail>[] = [];
  /** When the first began, in milliseconds from the turn's beginning; below zero: none has. */
  firstMs = -1;

  constructor(owner: CallOwner) {
    this.#owner = owner;
  }

  started(event: CallStart<AnyName>): void {
    this.#add(event, "cut");
  }

  grew({ choice, call, text }: CallDelta): void {
    const at = this.#find(choice, call);
    const detail = this.details[at];
    if (detail !== undefined) detail.argumentChars += text.length;
  }

  ended({ choice, call, complete }: CallEnd): void {
    const at = this.#find(choice, call);
    const detail = this.details[at];
    if (detail === undefined) return;
    detail.ms = this.#owner.now() - detail.atMs;
    if (complete) detail.outcome = "given";
    this.#owner.callEnded(at);
  }

  /** A call that the client is not given. */
  readonly leftOut = (event: CallStart<AnyName>, outcome: CallOutcome, chars = 0): void => {
    const detail = this.#add(event, outcome);
    if (detail === undefined) return;
    detail.argumentChars = chars;
    this.#owner.callEnded(this.details.length - 1);
  };

  #add(event: CallStart<AnyName>, outcome: CallOutcome): Writable<CallDetail> | undefined {
    const ms = this.#owner.now();
    if (this.firstMs < 0) this.firstMs = ms;
    this.#owner.reach("call", ms);
    if (this.details.length >= MOST_CALLS) return undefined;
    const { choice, call, kind, namespace } = event;
    const name = namespace === undefined ? event.name : `${namespace}.${event.name}`;
    const detail = {
      choice,
      call: outcome === "cut" ? call : -1,
      name: name.slice(0, LONGEST_NAME),
      kind: kind.slice(0, LONGEST_NAME),
      atMs: ms,
      ms: 0,
      argumentChars: 0,
      outcome,
    };
    this.details.push(detail);
    return detail;
  }

  /** From the end: mostly the last is meant. */
  #find(choice: number, call: number): number {
    for (let at = this.details.length - 1; at >= 0; at--) {
      const detail = this.details[at];
      if (detail?.call === call && detail.choice === choice) return at;
    }
    return -1;
  }
}
