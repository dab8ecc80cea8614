/** Finds the first thing in which a replayed turn differs from the recorded one. */

import { jsonOf } from "../../../json/json.ts";
import type { Bundle } from "../bundle.ts";
import { Comparison, type Difference } from "./difference.ts";
import type { ReplayedTurn } from "./replay.ts";
import type { SentRequest } from "./recorded-upstreams.ts";
import { wireFrames, type WireFrame } from "../read-answer.ts";

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
  const comparison = new Comparison({ masked: bundle.head.content === "masked" });
  return compareSent(bundle, turn, comparison) ?? compareReplies(bundle, turn, comparison);
}

function compareSent(
  { tries }: Bundle,
  { sent }: ReplayedTurn,
  comparison: Comparison,
): TurnDifference | undefined {
  for (const [at, request] of sent.entries()) {
    const found = compareRequest(request, comparison);
    if (found !== undefined) return { side: "upstream", nth: at + 1, ...found };
  }
  const expected = tries.filter(({ request }) => request !== undefined).length;
  if (sent.length >= expected) return undefined;
  const what = `${expected} ${expected === 1 ? "request was" : "requests were"} sent to upstreams, and ${sent.length} this time`;
  return { side: "upstream", nth: sent.length + 1, what };
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
  return at === undefined ? undefined : { what: `its body differs at \`${at.path}\``, at };
}

const withoutQuery = (path: string): string => path.split("?", 1)[0] ?? path;

function compareReplies(
  { reply }: Bundle,
  turn: ReplayedTurn,
  comparison: Comparison,
): TurnDifference | undefined {
  const status = reply.head?.status ?? 0;
  // A client that leaves before the first byte has no head to compare.
  if (reply.head !== undefined && turn.status !== status)
    return { side: "client", frame: 0, what: `the status is ${turn.status}, and was ${status}` };
  const recorded = said(wireFrames(reply.chunks.map(({ bytes }) => bytes)));
  const replayed = said(wireFrames(turn.chunks));
  const after = (frame: WireFrame | undefined): number | undefined =>
    frame === undefined ? undefined : reply.chunks[frame.chunk]?.after;
  for (const [index, frame] of recorded.entries()) {
    const place = { side: "client", frame: index + 1, after: after(frame) } as const;
    const own = replayed[index];
    if (own === undefined) {
      // Who left may have read less or more this time.
      if (reply.end?.left === true) return undefined;
      return { ...place, what: `it is not sent: ${shortened(frame.text)}` };
    }
    const at = comparison.first(
      { event: frame.event, data: frame.data },
      { event: own.event, data: own.data },
    );
    if (at !== undefined) return { ...place, what: `it differs at \`${at.path}\``, at };
  }
  const extra = replayed[recorded.length];
  if (extra !== undefined && reply.end?.left !== true)
    return {
      side: "client",
      frame: recorded.length + 1,
      what: `it was not sent then: ${shortened(extra.text)}`,
    };
  if (turn.isOver || reply.end === undefined) return undefined;
  return { side: "client", frame: replayed.length + 1, what: "the reply does not end" };
}

/** Comments only say that somebody is there, at whichever times. */
const said = (frames: readonly WireFrame[]): readonly WireFrame[] =>
  frames.filter(({ type }) => type !== "comment");

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
