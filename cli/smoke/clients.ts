/** Clients of `patchbay smoke`, one per door: each reads answers by the reader of its dialect, and is stricter about streams. */

import {
  builtinDialects,
  readSide,
  stretchText,
  type UpstreamName,
  wireFrames,
} from "../../src/inspection.ts";
import {
  type Fields,
  type Item,
  fieldsOf,
  filledText,
  listOf,
  numberOf,
} from "../../src/terminal.ts";
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
  /** Finds what a strict client rejects in a stream, event by event. */
  readonly strict: () => (event: Fields, hasFinished: boolean) => Iterable<string>;
};

const json = (value: unknown): string => JSON.stringify(value) ?? "nothing";
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
    strict() {
      const calls: { id: string; name: string }[] = [];
      let hasRole = false;
      return function* ({ choices }, hasFinished) {
        const delta = fieldsOf(firstOf(choices).delta) ?? {};
        const fragments = (listOf(delta.tool_calls) ?? []).map((one) => fieldsOf(one) ?? {});
        const isSaying = fragments.length > 0 || filledText(delta.content) !== undefined;
        if (hasFinished && isSaying) yield "content follows the finish";
        hasRole ||= delta.role !== undefined;
        if (isSaying && !hasRole) yield "content precedes the role";
        for (const { index, id, function: called } of fragments) {
          const known = calls[numberOf(index) ?? -1];
          const name = filledText(fieldsOf(called)?.name);
          if (known === undefined) {
            if (index !== calls.length)
              yield `a call has index ${json(index)}, expected ${calls.length}`;
            calls.push({ id: filledText(id) ?? "", name: name ?? "" });
          } else if (
            (filledText(id) ?? known.id) !== known.id ||
            (name ?? known.name) !== known.name
          )
            yield `call ${json(index)} changes its id or name`;
        }
      };
    },
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
    strict() {
      const added = new Set<unknown>();
      let closed: readonly SeenCall[] = [];
      let next = 0;
      return function* ({ type, item, response, sequence_number: number }, hasFinished) {
        if (hasFinished) yield "an event follows the terminal event";
        if (number !== next) yield `an event has sequence number ${json(number)}, expected ${next}`;
        next++;
        const { id } = fieldsOf(item) ?? {};
        if (type === "response.output_item.added") added.add(id);
        if (type === "response.output_item.done") {
          if (!added.has(id)) yield `item ${String(id)} is done without being added`;
          closed = [...closed, ...callsIn([item])];
        }
        const output = listOf(fieldsOf(response)?.output);
        if (type === "response.completed" && json(callsIn(output ?? [])) !== json(closed))
          yield "the final response has other calls than the stream";
      };
    },
  },
  messages: {
    finishIn: ({ delta, stop_reason }) => fieldsOf(delta)?.stop_reason ?? stop_reason,
    finish: "tool_use",
    callsAlone: false,
    counts: true,
    end: "message_stop",
    strict() {
      let blocks = 0;
      let isOpen = false;
      let hasStarted = false;
      return function* ({ type, index }) {
        const isStart = type === "message_start";
        if (!isStart && !hasStarted) yield "an event precedes message_start";
        if (isStart && hasStarted) yield "message_start comes twice";
        hasStarted ||= isStart;
        if (type === "content_block_start") {
          if (isOpen) yield "a block begins within another";
          if (index !== blocks) yield `a block has index ${json(index)}, expected ${blocks}`;
          blocks++;
          isOpen = true;
        } else if (type === "content_block_delta") {
          if (!isOpen || index !== blocks - 1) yield "a delta belongs to no open block";
        } else if (type === "content_block_stop") {
          if (!isOpen) yield "a block ends that is not open";
          isOpen = false;
        }
      };
    },
  },
  gemini: {
    finishIn: ({ candidates }) => firstOf(candidates).finishReason,
    finish: "STOP",
    callsAlone: false,
    counts: false,
    end: undefined,
    actions: ["generateContent", "streamGenerateContent?alt=sse"],
    // Google's own clients forget an answer with an empty chunk, and run a call as soon as it arrives.
    strict: () =>
      function* ({ candidates }) {
        const { content, finishReason } = firstOf(candidates);
        const { role, parts } = fieldsOf(content) ?? {};
        const all = (listOf(parts) ?? []).map((part) => fieldsOf(part) ?? {});
        if (all.length === 0 || all.some((part) => Object.keys(part).length === 0))
          yield "a chunk is without a part";
        if (role !== "model") yield `a chunk has role ${json(role)}, expected "model"`;
        if (finishReason === undefined && all.some((part) => part.functionCall !== undefined))
          yield "a call comes before the last chunk";
      },
  },
};

const callsIn = (items: readonly unknown[]): SeenCall[] =>
  items.flatMap((one) => {
    const { type, call_id: id, name, arguments: input } = fieldsOf(one) ?? {};
    return type === "function_call"
      ? [{ id: String(id), name: String(name), arguments: String(input) }]
      : [];
  });

/** The clients with the paths of their doors. */
export const clients = builtinDialects.doors.flatMap(({ name, door }) =>
  Object.hasOwn(table, name) ? [{ door: name as DoorName, path: door.routes[0] ?? "" }] : [],
);

export const clientOf = (door: DoorName): Client => table[door];

/** The path of a request, and the part of its body that names the model. */
export function addressOf(door: DoorName, model: string, stream: boolean) {
  const path = clients.find((one) => one.door === door)?.path ?? "";
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
  const { end, finishIn, strict } = clientOf(door);
  const side = readSide(door, chunks, { closed: broken === undefined });
  const last = end ?? "the finish";
  const flawsOf = strict();
  const problems = new Set(broken === undefined ? [] : [broken]);
  const finishes: string[] = [];
  let found = figures;
  let hasUsage = false;
  let isOver = false;
  for (const { type, text, data, partial } of wireFrames(chunks, { comments: true })) {
    const isFrame = type === "frame";
    const fields = type === "body" ? (fieldsOf(data) ?? {}) : fieldsOf(data);
    const counted = type === "comment" ? figuresIn(fields) : undefined;
    if (counted !== undefined) {
      if (found !== undefined) problems.add("the statistics comment comes twice");
      if (finishes.length === 0) problems.add("the statistics comment comes before the finish");
      if (hasUsage) problems.add("the statistics comment comes after the usage");
      if (isOver) problems.add(`the statistics comment comes after ${last}`);
      found = counted;
    } else if (type === "comment") continue;
    else if (partial) problems.add("the stream broke off within a frame");
    else if (isOver) problems.add(`something follows ${last}`);
    else if (text === end) isOver = true;
    else if (fields === undefined) problems.add("a frame is not JSON");
    else if (isFrame && (fields.type === "error" || fieldsOf(fields.error) !== undefined)) {
      problems.add(`the stream failed: ${errorMessage(fields) ?? "no reason was given"}`);
      isOver = end === undefined || fields.type === end;
    } else {
      if (isFrame) for (const flaw of flawsOf(fields, finishes.length > 0)) problems.add(flaw);
      const finish = filledText(finishIn(fields));
      if (finish !== undefined && finishes.push(finish) > 1)
        problems.add("the finish comes more than once");
      hasUsage ||= fieldsOf(fields.usage) !== undefined && listOf(fields.choices)?.length === 0;
      isOver = !isFrame || (end === undefined ? finish !== undefined : fields.type === end);
    }
  }
  if (!isOver) problems.add(`the stream ends without ${last}`);
  if (problems.size === 0 && side?.unlawful !== undefined)
    problems.add(`the answer cannot be read: ${side.unlawful.reason}`);
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

/** The text of a message; empty for another item. */
export const textOfItem = (item: Item | Item<UpstreamName>): string =>
  item.type !== "message"
    ? ""
    : item.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

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
