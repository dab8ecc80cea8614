/** Compares a turn with the recorded one: what left the gateway, or what an answer comes to. */

import { isFields, jsonOf, ownOf } from "../../../json/json.ts";
import type { Bundle } from "../bundle.ts";
import {
  textOf,
  wireFrames,
  type ReadCall,
  type ReadSide,
  type WireFrame,
} from "../read-answer.ts";
import { sizesOf } from "../text-mask.ts";
import type { SentRequest } from "./recorded-upstreams.ts";
import type { ReplayedTurn } from "./replay.ts";

type Difference = {
  /** Where, such as `choices[0].delta.content`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
};

/** Times of the clock. */
const CLOCK = /^(?:created|created_at|completed_at|expires_at|started_at|at|system_fingerprint)$/;
const ID = /(?:^id|_id|Id)$/;
/** Values are compared down to this depth: what is deeper would take the whole stack. */
const DEEPEST = 500;

type Place = { readonly path: string; readonly key: string; readonly depth: number };

/** One comparison of two turns: an id of one stands for the same id of the other all along. */
class Comparison {
  /** A masked bundle masks texts of the gateway too, so that texts need only have the same size. */
  readonly #isMasked: boolean;
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(isMasked: boolean) {
    this.#isMasked = isMasked;
  }

  /** The first difference; undefined where there is none. */
  first(
    recorded: unknown,
    replayed: unknown,
    place: Place = { path: "", key: "", depth: 0 },
  ): Difference | undefined {
    const { path, key, depth } = place;
    if (depth > DEEPEST || Object.is(recorded, replayed) || CLOCK.test(key)) return undefined;
    const differs = { path, recorded, replayed };
    if (typeof recorded === "string" && typeof replayed === "string")
      return this.#isSame(recorded, replayed, key) ? undefined : differs;
    if (typeof recorded !== "object" || typeof replayed !== "object") return differs;
    if (recorded === null || replayed === null) return differs;
    const isList = Array.isArray(recorded);
    if (isList !== Array.isArray(replayed)) return differs;
    const [a, b] = [recorded as Fields, replayed as Fields];
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = isList ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
      const inner = { path: at, key: isList ? key : name, depth: depth + 1 };
      const found = this.first(ownOf(a, name), ownOf(b, name), inner);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isSame(recorded: string, replayed: string, key: string): boolean {
    if (this.#ids.has(recorded)) return this.#ids.get(recorded) === replayed;
    if (ID.test(key) && !this.#taken.has(replayed)) {
      this.#ids.set(recorded, replayed);
      this.#taken.add(replayed);
      return true;
    }
    return this.#isMasked && sizesOf(recorded) === sizesOf(replayed);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Where two turns part. What was sent to an upstream comes first: all that follows is made of it. */
export type TurnDifference =
  | {
      readonly side: "upstream";
      readonly nth: number;
      readonly what: string;
      readonly at?: Difference;
    }
  | {
      readonly side: "client";
      /** Which frame of the reply, from 1; 0: its head. */
      readonly frame: number;
      /** How many pieces of upstreams had been read when the recorded frame was written. */
      readonly after?: number | undefined;
      readonly what: string;
      readonly at?: Difference;
    };

export function compareTurns(bundle: Bundle, turn: ReplayedTurn): TurnDifference | undefined {
  const comparison = new Comparison(bundle.head.content === "masked");
  for (const [at, request] of turn.sent.entries()) {
    const found = compareRequest(request, comparison);
    if (found !== undefined) return { side: "upstream", nth: at + 1, ...found };
  }
  const expected = bundle.tries.filter(({ request }) => request !== undefined).length;
  const sent = turn.sent.length;
  if (sent >= expected) return compareReplies(bundle, turn, comparison);
  const what = `${expected} ${expected === 1 ? "request was" : "requests were"} sent to upstreams, and ${sent} this time`;
  return { side: "upstream", nth: sent + 1, what };
}

function compareRequest(
  { upstream, path, body, recorded }: SentRequest,
  comparison: Comparison,
): { readonly what: string; readonly at?: Difference } | undefined {
  const then = recorded?.request;
  if (then === undefined)
    return { what: `a request is sent to \`${upstream}\` that the recorded turn did not make` };
  if (withoutQuery(then.path) !== withoutQuery(path))
    return { what: `it goes to ${path}, and went to ${then.path}` };
  const at = comparison.first(jsonOf(then.body) ?? then.body, jsonOf(body) ?? body);
  return at && { what: `its body differs at \`${at.path}\``, at };
}

const withoutQuery = (path: string): string => path.split("?", 1)[0] ?? path;

function compareReplies(
  { reply }: Bundle,
  turn: ReplayedTurn,
  comparison: Comparison,
): TurnDifference | undefined {
  const side = "client";
  const status = reply.head?.status ?? 0;
  // A client that leaves before the first byte has no head to compare.
  if (reply.head !== undefined && turn.status !== status)
    return { side, frame: 0, what: `the status is ${turn.status}, and was ${status}` };
  const recorded = said(wireFrames(reply.chunks.map(({ bytes }) => bytes)));
  const replayed = said(wireFrames(turn.chunks));
  // A client that left may have read less or more this time.
  const hasLeft = reply.end?.left === true;
  for (const [index, frame] of recorded.entries()) {
    const place = { side, frame: index + 1, after: reply.chunks[frame.chunk]?.after } as const;
    const own = replayed[index];
    if (own === undefined)
      return hasLeft ? undefined : { ...place, what: `it is not sent: ${shortened(frame.text)}` };
    const [then, now] = [frame, own].map(({ event, data }) => ({ event, data }));
    const at = comparison.first(then, now);
    if (at !== undefined) return { ...place, what: `it differs at \`${at.path}\``, at };
  }
  const extra = replayed[recorded.length];
  if (extra !== undefined && !hasLeft) {
    const what = `it was not sent then: ${shortened(extra.text)}`;
    return { side, frame: recorded.length + 1, what };
  }
  if (turn.isOver || reply.end === undefined) return undefined;
  return { side, frame: replayed.length + 1, what: "the reply does not end" };
}

/** Comments only keep the connection open, at any times. */
const said = (frames: readonly WireFrame[]): readonly WireFrame[] =>
  frames.filter(({ type }) => type !== "comment");

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** An answer as a client had it. */
export type GivenAnswer = {
  readonly status: number;
  /** What it says; none where it is an error. */
  readonly side: ReadSide | undefined;
  /** What went wrong with it. */
  readonly problem: string | undefined;
  /** Why each choice ended, where that is known. */
  readonly stops: readonly string[];
  /** The client left, so that more may have come. */
  readonly left: boolean;
};

export type AnswerDifference = {
  readonly what: string;
  readonly recorded?: unknown;
  readonly live?: unknown;
};

/**
 * The first of what counts: whether there is an answer, its calls and their properties, how it
 * ends. No two answers of a model have the same words.
 */
export function compareAnswers(
  recorded: GivenAnswer,
  live: GivenAnswer,
): AnswerDifference | undefined {
  if ((recorded.problem === undefined) !== (live.problem === undefined)) {
    const [now, then] =
      live.problem === undefined ? ["is answered", "failed"] : ["fails", "was answered"];
    return { what: `it ${now}, and ${then} when it was recorded` };
  }
  if (recorded.status !== live.status)
    return { what: "the status differs", recorded: recorded.status, live: live.status };
  const found = compareCalls(callsOf(recorded), callsOf(live), recorded.left);
  if (found !== undefined || recorded.left) return found;
  const [then, now] = [hasText(recorded), hasText(live)];
  // Words beside calls are told or not as a model likes.
  if (callsOf(recorded).length === 0 && then !== now)
    return { what: now ? "it has a text, and had none" : "it has no text, and had one" };
  const [was, is] = [recorded.stops.join(", "), live.stops.join(", ")];
  return was === is || was === "" || is === ""
    ? undefined
    : { what: "it ends for another reason", recorded: was, live: is };
}

const callsOf = ({ side }: GivenAnswer): readonly ReadCall[] => side?.calls ?? [];
const hasText = ({ side }: GivenAnswer): boolean => (side?.text.length ?? 0) > 0;

function compareCalls(
  recorded: readonly ReadCall[],
  live: readonly ReadCall[],
  left: boolean,
): AnswerDifference | undefined {
  // What the client of then did not stay for may have been cut anywhere.
  const known = left ? recorded.filter(({ complete }) => complete) : recorded;
  for (const [at, then] of known.entries()) {
    const now = live[at];
    if (now?.name !== then.name)
      return { what: `call ${at + 1} differs`, recorded: then.name, live: now?.name };
    const found = firstProperty(argumentsOf(then), argumentsOf(now));
    if (found !== undefined) return { ...found, what: `${nameOf(then, at)}: ${found.what}` };
  }
  const extra = live[known.length];
  return extra === undefined || left
    ? undefined
    : { what: `call ${known.length + 1} differs`, recorded: undefined, live: extra.name };
}

/** The first value of a call that differs: worth knowing, and in the nature of models. */
export function compareValues(
  recorded: GivenAnswer,
  live: GivenAnswer,
): AnswerDifference | undefined {
  for (const [at, then] of callsOf(recorded).entries()) {
    const now = callsOf(live)[at];
    if (now === undefined) return undefined;
    const found = new Comparison(false).first(argumentsOf(then), argumentsOf(now));
    if (found === undefined) continue;
    const place = found.path === "" ? "" : `, \`${found.path}\``;
    return { what: `${nameOf(then, at)}${place}`, recorded: found.recorded, live: found.replayed };
  }
  return undefined;
}

const nameOf = ({ name }: ReadCall, at: number): string => `call ${at + 1} (${name})`;

/** JSON, or the text of a tool that takes text. */
function argumentsOf({ stretches }: ReadCall): unknown {
  const text = textOf(stretches);
  return jsonOf(text) ?? text;
}

/** The first property that one has and the other has not, or that is of another type. Lists vary. */
function firstProperty(recorded: unknown, live: unknown, path = ""): AnswerDifference | undefined {
  const place = path === "" ? "the arguments" : `\`${path}\``;
  if (typeOf(recorded) !== typeOf(live))
    return { what: `the type of ${place} differs`, recorded, live };
  if (!isFields(recorded) || !isFields(live)) return undefined;
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(live)])) {
    const at = path === "" ? key : `${path}.${key}`;
    const [was, is] = [Object.hasOwn(recorded, key), Object.hasOwn(live, key)];
    if (was !== is) return { what: `\`${at}\` differs`, recorded: recorded[key], live: live[key] };
    const found = firstProperty(recorded[key], live[key], at);
    if (found !== undefined) return found;
  }
  return undefined;
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
