/** The parts of a chat answer that are not calls, each read and written: ends, counts, citations, pictures, reasoning, and vendor fields. */

import type { StopReason, Usage } from "../../turn/event.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import {
  counted,
  fieldsOf,
  filledText,
  given,
  hasShape,
  isNothing,
  listOf,
  meaningsOf,
  numberOf,
} from "../shared/loose.ts";

/** The words of upstreams for the end of an answer, in lower case, by meaning. */
const endings: Readonly<Partial<Record<StopReason | FaultCode, string>>> = {
  end: "stop end end_turn eos eos_token stop_sequence complete completed",
  calls: "tool_calls tool_call tool_use function_call",
  length:
    "length max_tokens max_output_tokens max_length model_length token_limit time_limit model_context_window_exceeded",
  pause: "pause pause_turn",
  filter:
    "content_filter content_filtered filtered safety image_safety sensitive recitation blocklist prohibited_content spii refusal guardrail_intervened",
  "upstream.said_error":
    "error model_error malformed_function_call unexpected_tool_call too_many_tool_calls function_call_filter",
  "upstream.failed": "network_error abort aborted cancelled",
  "upstream.timeout": "timeout",
  "upstream.overloaded": "insufficient_system_resource",
};
const meanings = meaningsOf(endings);

/** The finish reasons of the OpenAI API. */
export const ownStops: ReadonlyMap<unknown, StopReason> = new Map([
  ["stop", "end"],
  ["tool_calls", "calls"],
  ["length", "length"],
  ["content_filter", "filter"],
]);

/** Reads a finish reason. An unknown one is a plain end; some are more precise: `kind: cause`. */
export function readFinish(reason: string): StopReason | Fault {
  const [kind = "", cause = ""] = reason.toLowerCase().split(/:\s*/);
  const stop = meanings.get(cause) ?? meanings.get(kind) ?? "end";
  if (!isFault(stop)) return stop;
  return new Fault(
    stop,
    `The upstream broke off its answer (finish reason \`${reason}\`); try again.`,
    { upstreamCode: reason },
  );
}

const isFault = (meaning: StopReason | FaultCode): meaning is FaultCode => meaning.includes(".");

const reasons: Readonly<Record<StopReason, string>> = {
  end: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  // The nearest word for an answer that continues later.
  pause: "length",
};

/** True if the client declares `functions` in place of tools, and so expects calls as `function_call`. */
export const declaresFunctions = ({ tools, functions }: Fields): boolean =>
  Array.isArray(functions) && functions.length > 0 && tools == null;

/** `legacy`: the client expects a `function_call`, and the answer has one. */
export const writeFinish = (stop: StopReason, legacy: boolean): string =>
  legacy && stop === "calls" ? "function_call" : reasons[stop];

/** The count of tokens in a frame or body, wherever an upstream puts it. */
export function readUsage({ usage: own, x_groq: groq, choices }: Fields): Usage | undefined {
  const places = [own, groq == null ? undefined : fieldsOf(groq)?.usage];
  for (const choice of listOf(choices) ?? []) places.push((choice as Fields | null)?.usage);
  for (const place of places) {
    const usage = place == null ? undefined : counted(place);
    if (usage !== undefined) return usage;
  }
  return undefined;
}

const usage = {
  prompt_tokens: "count",
  completion_tokens: "count",
  total_tokens: "count",
} as const;

export const isOwnUsage = (value: unknown): boolean => hasShape(value, usage);

export function writeUsage(count: Usage): Fields {
  const { input, output, total, cached, cacheWrite, reasoning } = count;
  const details = {
    ...(cached !== undefined && { cached_tokens: cached }),
    ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite }),
  };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    ...(Object.keys(details).length > 0 && { prompt_tokens_details: details }),
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Reads an annotation as events have it, `{type, url, ...}`: chat nests its fields under its type. */
export function readAnnotation(raw: unknown): unknown {
  const fields = fieldsOf(raw);
  const inner = fieldsOf(fields?.[String(fields?.type)]);
  return fields === undefined || inner === undefined ? raw : { type: fields.type, ...inner };
}

/** The annotation of a bare link, as some upstreams cite. It is about the whole answer. */
export const readLink = (url: string): Fields => ({
  type: "url_citation",
  url,
  title: url,
  start_index: 0,
  end_index: 0,
});

/** Chat has citations of web pages only, and its readers need every field. */
export function writeChatAnnotation(annotation: unknown): Fields | undefined {
  const fields = fieldsOf(annotation);
  const url = filledText(fields?.url);
  if (fields?.type !== "url_citation" || url === undefined) return undefined;
  const { type, title, start_index, end_index, ...rest } = fields;
  return {
    type,
    url_citation: {
      ...rest,
      title: typeof title === "string" ? title : url,
      start_index: numberOf(start_index) ?? 0,
      end_index: numberOf(end_index) ?? 0,
    },
  };
}

const citation = {
  url: "text",
  title: "text",
  start_index: "number",
  end_index: "number",
} as const;

export const areOwnAnnotations = (list: unknown): boolean =>
  Array.isArray(list) && list.every((one) => hasShape(fieldsOf(one)?.url_citation, citation));

/** The type of an item that holds an image. It is of the Responses API: chat has no such item. */
const IMAGE = "image_generation_call";

/** The URLs of the images of a message, as some providers send them in `images`. */
export const imagesIn = (images: unknown): readonly string[] =>
  (listOf(images) ?? []).flatMap((entry) => {
    const image = fieldsOf(entry)?.image_url;
    return filledText(fieldsOf(image)?.url) ?? filledText(image) ?? [];
  });

/** An image as an item, at its start and at its end. */
export function imageItem(url: string, id: string): { first: Fields; last: Fields } {
  const [, format, data] = /^data:image\/([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  const item = { type: IMAGE, id };
  const last = { ...item, status: "completed", result: data ?? url };
  return {
    first: { ...item, status: "in_progress", result: null },
    last: format === undefined ? last : { ...last, output_format: format },
  };
}

/** Writes an item of the upstream's own tools: chat can show images, and others are reported as dropped. */
export function writeHosted(
  item: Fields,
  choice: number,
  { report }: WriteContext,
): Fields | undefined {
  const result = filledText(item.result);
  if (item.type !== IMAGE || result === undefined) {
    const type = (filledText(item.type) ?? "item").slice(0, 60);
    const reason = `a chat answer has no form for \`${type}\``;
    report?.({ path: `output.choices[${choice}]`, action: "dropped", reason });
    return undefined;
  }
  const format = filledText(item.output_format) ?? "png";
  const url = /^https?:/.test(result) ? result : `data:image/${format};base64,${result}`;
  return { type: "image_url", image_url: { url } };
}

/** The fields for reasoning as plain text; each provider has one of them. */
export const reasoningFields = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
] as const;

export function reasoningTextIn(delta: Fields): string | undefined {
  for (const field of reasoningFields) {
    const text = delta[field];
    if (typeof text === "string" && text !== "") return text;
  }
  return undefined;
}

/** The fields of `reasoning_details` and `thinking_blocks` that are streamed in pieces. */
const grows = ["text", "summary", "data", "thinking"] as const;

/** Adds a chunk's `reasoning_details` to those of earlier chunks. */
export function addDetails(known: Fields[], more: readonly unknown[]): void {
  for (const raw of more) {
    const piece = fieldsOf(raw);
    if (piece === undefined) continue;
    const last = known.at(-1);
    if (last === undefined || !isMore(last, piece)) {
      known.push(piece);
      continue;
    }
    const joined: Record<string, unknown> = { ...last, ...given(piece) };
    for (const key of grows)
      if (typeof last[key] === "string" && typeof piece[key] === "string")
        joined[key] = last[key] + piece[key];
    known[known.length - 1] = joined;
  }
}

/** True if an entry is another piece of the one before it. Sealed entries without a number are whole. */
const isMore = (last: Fields, piece: Fields): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.id == null || last.id == null || piece.id === last.id) &&
  (piece.index !== undefined || piece.data === undefined);

/** Adds a piece of vendor fields to the earlier ones: texts and lists continue. */
export function mergedPieces(known: Fields, piece: Fields): Fields {
  const all: Record<string, unknown> = { ...known };
  for (const [key, value] of Object.entries(piece)) all[key] = joined(known[key], value);
  return all;
}

function joined(before: unknown, piece: unknown): unknown {
  if (before === undefined || before === null) return piece;
  if (piece === undefined || piece === null || piece === before) return before;
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  const [list, more] = [listOf(before), listOf(piece)];
  if (list !== undefined && more !== undefined) return joinedLists(list, more);
  const [fields, others] = [fieldsOf(before), fieldsOf(piece)];
  return fields !== undefined && others !== undefined ? mergedPieces(fields, others) : piece;
}

function joinedLists(list: readonly unknown[], more: readonly unknown[]): readonly unknown[] {
  const entries = list.map(fieldsOf).filter((entry) => entry !== undefined);
  if (entries.length < list.length) return [...list, ...more];
  addDetails(entries, more);
  return entries;
}

/** True if an entry has a signature or sealed data, by which its model recognises it. */
export const areSigned = (details: readonly unknown[] | undefined): boolean =>
  details?.some((raw) => {
    const { signature, data } = fieldsOf(raw) ?? {};
    return (filledText(signature) ?? filledText(data)) !== undefined;
  }) === true;

export const detailsText = (details: readonly unknown[]): string =>
  details
    .map((raw) => {
      const { text, summary, thinking } = fieldsOf(raw) ?? {};
      return filledText(text) ?? filledText(summary) ?? filledText(thinking) ?? "";
    })
    .join("");

export type AnswerPart = {
  readonly type: "text" | "reasoning" | "refusal";
  readonly text: string;
  /** The part itself, if it is signed and has to be sent back unchanged. */
  readonly signed?: Fields | undefined;
};

/** Reads a part of the content. Chat answers in plain text; providers with parts have various types. */
export function readAnswerPart(raw: unknown): AnswerPart {
  const part = fieldsOf(raw);
  if (part === undefined) return { type: "text", text: filledText(raw) ?? "" };
  if (part.type === "refusal") return { type: "refusal", text: filledText(part.refusal) ?? "" };
  const { thinking, reasoning, summary } = part;
  const isThought =
    thinking != null || /^(?:reasoning|(?:redacted_)?thinking)/.test(String(part.type));
  const text = filledText(part.text);
  if (!isThought) return { type: "text", text: text ?? "" };
  const thought = thinking ?? reasoning ?? summary;
  const words = filledText(thought) ?? text ?? detailsText(listOf(thought) ?? []);
  const isSigned = filledText(part.signature) !== undefined || filledText(part.data) !== undefined;
  return { type: "reasoning", text: words, ...(isSigned && { signed: part }) };
}

/** The fields of a message that events have a place for. */
const known = new Set<string>([
  "role",
  "content",
  "refusal",
  "annotations",
  "images",
  "tool_calls",
  "function_call",
  ...reasoningFields,
]);

/** The vendor fields of a message or delta: those of reasoning, and the others. */
export function vendorFieldsIn(
  delta: Fields,
): { readonly message?: Fields; readonly reasoning?: Fields } | undefined {
  let vendor:
    | { message?: Record<string, unknown>; reasoning?: Record<string, unknown> }
    | undefined;
  for (const key in delta) {
    const value = delta[key];
    if (known.has(key) || isNothing(value)) continue;
    const of = /^(?:reasoning|thinking)/.test(key) ? "reasoning" : "message";
    ((vendor ??= {})[of] ??= {})[key] = value;
  }
  return vendor;
}

/** The fields of an answer that events have a place for, or that are not worth keeping. */
export const answerFields = new Set("id object created model choices usage obfuscation".split(" "));
/** The same fields of a choice. */
export const choiceFields = new Set(
  "index delta message text logprobs finish_reason error".split(" "),
);

/** The vendor fields that changed since earlier frames: most providers repeat them in every frame. */
export function changedFields(
  raw: Fields,
  known: ReadonlySet<string>,
  reader: { seenFields: Map<string, unknown> | undefined },
): Fields | undefined {
  let changed: Record<string, unknown> | undefined;
  for (const key in raw) {
    const value = raw[key];
    if (known.has(key) || isNothing(value)) continue;
    const text = typeof value === "object" ? comparable(value) : value;
    const seen = (reader.seenFields ??= new Map());
    if (seen.get(key) === text) continue;
    seen.set(key, text);
    (changed ??= {})[key] = value;
  }
  return changed;
}

/** Equal for equal values; one nested too deep for JSON counts as changed every time. */
function comparable(value: unknown): unknown {
  try {
    return JSON.stringify(value);
  } catch {
    return value;
  }
}
