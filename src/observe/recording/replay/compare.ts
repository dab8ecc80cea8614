/** Compares the requests and the reply of a replayed turn with the recorded ones. */

import { jsonOf, ownOf } from "../../../json/json.ts";
import type { Bundle } from "../bundle.ts";
import { bytesOf, wireFrames } from "../read-answer.ts";
import { sizesOf } from "../text-mask.ts";
import type { SentRequest } from "./recorded-upstreams.ts";
import type { ReplayedTurn } from "./replay.ts";

type Difference = {
  /** Such as `choices[0].delta.content`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
};

/** Times of the clock. */
const CLOCK = /^(?:created|created_at|completed_at|expires_at|started_at|at|system_fingerprint)$/;
const ID = /(?:^id|_id|Id)$/;
/** Values below this depth are not compared, because they might exhaust the stack. */
const DEEPEST = 500;

type Place = { readonly path: string; readonly key: string; readonly depth: number };

/** One comparison of two turns: an id of one has the same counterpart in the other everywhere. */
class Comparison {
  /** Texts of a masked bundle need only have the same size, because texts of the gateway are masked too. */
  readonly #isMasked: boolean;
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor(isMasked: boolean) {
    this.#isMasked = isMasked;
  }

  /** The first difference; undefined if the values are equal. */
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

/** The first difference of two turns. Requests to upstreams are compared first, because the rest depends on them. */
export type TurnDifference =
  | {
      readonly side: "upstream";
      readonly nth: number;
      readonly what: string;
      readonly at?: Difference;
    }
  | {
      readonly side: "client";
      /** The number of the frame in the reply, from 1; 0: its head. */
      readonly frame: number;
      /** The number of upstream pieces that had been read when the recorded frame was written. */
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
  const what = `the recorded turn sent ${expected} ${expected === 1 ? "request" : "requests"} to upstreams, but the replay sent ${sent}`;
  return { side: "upstream", nth: sent + 1, what };
}

function compareRequest(
  { upstream, path, body, recorded }: SentRequest,
  comparison: Comparison,
): { readonly what: string; readonly at?: Difference } | undefined {
  const then = recorded?.request;
  if (then === undefined)
    return {
      what: `the replay sends a request to \`${upstream}\` that the recorded turn did not send`,
    };
  if (withoutQuery(then.path) !== withoutQuery(path))
    return { what: `its path is ${path}, but the recorded path is ${then.path}` };
  const at = comparison.first(jsonOf(then.body) ?? then.body, jsonOf(body) ?? body);
  return at && { what: `its body differs at \`${at.path}\``, at };
}

export const withoutQuery = (path: string): string => path.split("?", 1)[0] ?? path;

function compareReplies(
  { reply }: Bundle,
  turn: ReplayedTurn,
  comparison: Comparison,
): TurnDifference | undefined {
  const side = "client";
  const status = reply.head?.status ?? 0;
  // A client that leaves before the first byte receives no head.
  if (reply.head !== undefined && turn.status !== status)
    return {
      side,
      frame: 0,
      what: `the status is ${turn.status}, but the recorded status is ${status}`,
    };
  const recorded = wireFrames(bytesOf(reply.chunks));
  const replayed = wireFrames(turn.chunks);
  // A client that left may have read less or more this time.
  const hasLeft = reply.end?.left === true;
  for (const [index, frame] of recorded.entries()) {
    const place = { side, frame: index + 1, after: reply.chunks[frame.chunk]?.after } as const;
    const own = replayed[index];
    if (own === undefined)
      return hasLeft
        ? undefined
        : { ...place, what: `the replay does not send it: ${shortened(frame.text)}` };
    const [then, now] = [frame, own].map(({ event, data }) => ({ event, data }));
    const at = comparison.first(then, now);
    if (at !== undefined) return { ...place, what: `it differs at \`${at.path}\``, at };
  }
  const extra = replayed[recorded.length];
  if (extra !== undefined && !hasLeft) {
    const what = `the recorded turn did not send it: ${shortened(extra.text)}`;
    return { side, frame: recorded.length + 1, what };
  }
  if (turn.isOver || reply.end === undefined) return undefined;
  return { side, frame: replayed.length + 1, what: "the reply of the replay does not end" };
}

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
