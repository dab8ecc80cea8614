/** Clients of `patchbay smoke`, one per door: each reads answers by the reader of its dialect. */

import { builtinDialects, readSide, stretchText, wireFrames } from "../../src/inspection.ts";
import { type Fields, fieldsOf, filledText, listOf, numberOf } from "../../src/terminal.ts";
import { errorMessage } from "../remote.ts";
import type { DoorName } from "./scene.ts";

export type SeenCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** The gateway's own count of a turn's calls, sent beside the answer. */
export type AnswerFigures = {
  readonly count: number;
  readonly truncated: boolean;
  readonly mode: string;
};

export type ReadAnswer = {
  readonly calls: readonly SeenCall[];
  readonly text: string;
  /** The reason why it ended, in the words of its dialect. */
  readonly finish: string;
  readonly figures: AnswerFigures | undefined;
  readonly problems: readonly string[];
};

type Client = {
  /** The reason why an answer ended, in a whole answer or in an event; undefined in an event without one. */
  readonly finishIn: (fields: Fields) => unknown;
  /** The reason of an answer with calls. */
  readonly finish: string;
  /** True if a whole answer with calls has no text beside them. */
  readonly callsAlone: boolean;
  /** True if its clients ignore comments, so that a stream ends with one that counts the calls. */
  readonly counts: boolean;
  /** The last frame of a stream: its data, or the type of its event. Undefined: the frame with the finish. */
  readonly end: string | undefined;
  /** The last part of the path for a whole answer and for a stream, of a dialect whose path names the model too. */
  readonly actions?: readonly [whole: string, stream: string];
};

const firstOf = (list: unknown): Fields => fieldsOf(listOf(list)?.[0]) ?? {};

const terminals = new Set<unknown>([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

const table: Readonly<Record<DoorName, Client>> = {
  chat: {
    finishIn: ({ choices }) => firstOf(choices).finish_reason,
    finish: "tool_calls",
    callsAlone: true,
    counts: true,
    end: "[DONE]",
  },
  responses: {
    finishIn: ({ type, response, status }) =>
      type === undefined || terminals.has(type)
        ? (fieldsOf(response)?.status ?? status)
        : undefined,
    finish: "completed",
    callsAlone: false,
    counts: true,
    end: "[DONE]",
  },
  messages: {
    finishIn: ({ delta, stop_reason }) => fieldsOf(delta)?.stop_reason ?? stop_reason,
    finish: "tool_use",
    callsAlone: false,
    counts: true,
    end: "message_stop",
  },
  gemini: {
    finishIn: ({ candidates }) => firstOf(candidates).finishReason,
    finish: "STOP",
    callsAlone: false,
    counts: false,
    end: undefined,
    actions: ["generateContent", "streamGenerateContent?alt=sse"],
  },
};

export const clientOf = (door: DoorName): Client => table[door];

/** The path of a request, and the part of its body that names the model. */
export function addressOf(door: DoorName, model: string, stream: boolean) {
  const [path = ""] = builtinDialects.get(door)?.door?.routes ?? [];
  const { actions } = table[door];
  if (actions === undefined) return { path, named: { model } };
  const name = model.split("/").map(encodeURIComponent).join("/");
  const whole = path.replace("{model}", name).replace("{action}", actions[stream ? 1 : 0]);
  return { path: whole, named: {} };
}

type Received = {
  /** The figures in the head of a whole answer. */
  readonly figures?: AnswerFigures | undefined;
  /** The reason why no more came. */
  readonly broken?: string | undefined;
};

/** Reads one answer, which comes as a stream or whole. Each problem is listed once. */
export function readAnswer(
  door: DoorName,
  chunks: readonly Uint8Array[],
  { figures, broken }: Received,
): ReadAnswer {
  const { end, finishIn } = clientOf(door);
  const side = readSide(door, chunks, { closed: broken === undefined });
  const last = end ?? "the finish";
  const problems = new Set(broken === undefined ? [] : [broken]);
  const finishes: string[] = [];
  let found = figures;
  let isOver = false;
  for (const { type, text, data } of wireFrames(chunks, { comments: true })) {
    const fields = fieldsOf(data) ?? {};
    if (type === "comment") {
      const counted = figuresIn(fields);
      if (counted === undefined) continue;
      if (found !== undefined) problems.add("the statistics comment comes twice");
      if (finishes.length === 0) problems.add("the statistics comment comes before the finish");
      if (isOver) problems.add(`the statistics comment comes after ${last}`);
      found = counted;
      continue;
    }
    if (isOver) problems.add(`something follows ${last}`);
    const isError =
      type === "frame" && (fields.type === "error" || fieldsOf(fields.error) !== undefined);
    if (isError)
      problems.add(`the stream failed: ${errorMessage(fields) ?? "no reason was given"}`);
    const finish = filledText(finishIn(fields));
    if (finish !== undefined && finishes.push(finish) > 1)
      problems.add("the finish comes more than once");
    isOver ||=
      type === "body" ||
      (end === undefined ? isError || finish !== undefined : text === end || fields.type === end);
  }
  if (!isOver) problems.add(`the stream ends without ${last}`);
  const reason = side?.unlawful?.reason ?? side?.error?.message;
  if (problems.size === 0 && reason !== undefined)
    problems.add(`the answer cannot be read: ${reason}`);
  return {
    calls: (side?.calls ?? []).map(({ id, name, stretches }) => ({
      id,
      name,
      arguments: stretchText(stretches),
    })),
    text: stretchText(side?.text ?? []),
    finish: finishes[0] ?? "",
    figures: found,
    problems: [...problems],
  };
}

/** The figures in the head of a whole answer. */
export function figuresInHead(head: Headers): AnswerFigures | undefined {
  const count = head.get("x-codex-tool-call-count");
  const truncated = head.get("x-codex-tool-call-truncated");
  const mode = head.get("x-codex-stop-after-tools-mode");
  if (count === null || !/^\d+$/.test(count) || mode === null) return undefined;
  if (truncated !== "true" && truncated !== "false") return undefined;
  return { count: Number(count), truncated: truncated === "true", mode };
}

/** The figures in a comment of a stream; other comments only keep a connection alive. */
function figuresIn(fields: Fields | undefined): AnswerFigures | undefined {
  const count = numberOf(fields?.tool_call_count);
  const mode = filledText(fields?.stop_after_tools_mode);
  const truncated = fields?.tool_call_truncated;
  if (count === undefined || mode === undefined || typeof truncated !== "boolean") return undefined;
  return { count, truncated, mode };
}
