/** Compares what two answers to one request come to: no two answers of a model have the same words. */

import { isFields, jsonOf } from "../../../json/json.ts";
import type { ReadCall, ReadSide } from "../read-answer.ts";
import { Comparison } from "./difference.ts";

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

/** The first of what counts: whether there is an answer, its calls and their properties, how it ends. */
export function compareAnswers(
  recorded: GivenAnswer,
  live: GivenAnswer,
): AnswerDifference | undefined {
  return (
    compareFailures(recorded, live) ??
    compareCalls(callsOf(recorded), callsOf(live), recorded.left) ??
    (recorded.left ? undefined : compareEnds(recorded, live))
  );
}

const callsOf = ({ side }: GivenAnswer): readonly ReadCall[] => side?.calls ?? [];

function compareFailures(recorded: GivenAnswer, live: GivenAnswer): AnswerDifference | undefined {
  if ((recorded.problem === undefined) !== (live.problem === undefined))
    return {
      what:
        live.problem === undefined
          ? "it is answered, and failed when it was recorded"
          : "it fails, and was answered when it was recorded",
    };
  return recorded.status === live.status
    ? undefined
    : { what: "the status differs", recorded: recorded.status, live: live.status };
}

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

function compareEnds(recorded: GivenAnswer, live: GivenAnswer): AnswerDifference | undefined {
  const [then, now] = [hasText(recorded), hasText(live)];
  // Words beside calls are told or not as a model likes.
  if (callsOf(recorded).length === 0 && then !== now)
    return { what: now ? "it has a text, and had none" : "it has no text, and had one" };
  const [was, is] = [recorded.stops.join(", "), live.stops.join(", ")];
  return was === is || was === "" || is === ""
    ? undefined
    : { what: "it ends for another reason", recorded: was, live: is };
}

const hasText = ({ side }: GivenAnswer): boolean => (side?.text.length ?? 0) > 0;

/** The first value of a call that differs: worth knowing, and in the nature of models. */
export function compareValues(
  recorded: GivenAnswer,
  live: GivenAnswer,
): AnswerDifference | undefined {
  for (const [at, then] of callsOf(recorded).entries()) {
    const now = callsOf(live)[at];
    if (now === undefined) return undefined;
    const comparison = new Comparison({ masked: false });
    const found = comparison.first(argumentsOf(then), argumentsOf(now));
    if (found === undefined) continue;
    const place = found.path === "" ? "" : `, \`${found.path}\``;
    return { what: `${nameOf(then, at)}${place}`, recorded: found.recorded, live: found.replayed };
  }
  return undefined;
}

const nameOf = ({ name }: ReadCall, at: number): string => `call ${at + 1} (${name})`;

/** JSON, or the text of a tool that takes text. */
function argumentsOf({ stretches }: ReadCall): unknown {
  const text = stretches.map((stretch) => stretch.text).join("");
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
