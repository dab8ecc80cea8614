/** The parts of a chat answer that are not calls, each read and written: ends, counts, citations, pictures, reasoning, and vendor fields. */

import type { StopReason, Usage } from "../../turn/event.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import {
  counted,
  fieldsOf,
  filledText,
  hasShape,
  isNothing,
  listOf,
  meaningsOf,
  numberOf,
} from "../shared/loose.ts";

/** What upstreams call the end of an answer, in lower case, by what it means. */
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

/** An end we have no word for is an end all the same. Some say more closely what they mean: `kind: cause`. */
export function readFinish(reason: string): StopReason | Fault {
  const [kind = "", cause = ""] = reason.toLowerCase().split(/:\s*/);
  const stop = meanings.get(cause) ?? meanings.get(kind) ?? "end";
  if (isStop(stop)) return stop;
  return new Fault(
    stop,
    `The upstream broke off its answer (finish reason \`${reason}\`); try again.`,
    { upstreamCode: reason },
  );
}

const isStop = (word: StopReason | FaultCode): word is StopReason => !word.includes(".");

const reasons: Readonly<Record<StopReason, string>> = {
  end: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  // The nearest word for an answer of which there is more.
  pause: "length",
};

/** `legacy`: for clients that make calls in the old form, and made one. */
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

/** Whether a count is as the API writes it. */
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

/**
 * An annotation in our words is flat, `{type, url, ...}`; chat nests what it
 * says under its type.
 */
export function readAnnotation(raw: unknown): unknown {
  const fields = fieldsOf(raw);
  const inner = fieldsOf(fields?.[String(fields?.type)]);
  return fields === undefined || inner === undefined ? raw : { type: fields.type, ...inner };
}

/** A bare link, as some upstreams cite: it is about the answer, not about a place in it. */
export const readLink = (url: string): Fields => ({
  type: "url_citation",
  url,
  title: url,
  start_index: 0,
  end_index: 0,
});

/** Chat knows citations of web pages only, and its readers want every field. */
export function writeAnnotation(annotation: unknown): Fields | undefined {
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

/** What an item that holds a picture is called; the API of that name has the word, chat has none. */
const TYPE = "image_generation_call";

/** The URLs of the images of a message, as some providers send them in `images`. */
export const imagesIn = (images: unknown): readonly string[] =>
  (listOf(images) ?? []).flatMap((entry) => {
    const image = fieldsOf(entry)?.image_url;
    return filledText(fieldsOf(image)?.url) ?? filledText(image) ?? [];
  });

/** A picture as an item, as it is announced and as it is when it is done. */
export function imageItem(url: string, id: string): { first: Fields; last: Fields } {
  const [, format, data] = /^data:image\/([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  const item = { type: TYPE, id };
  return {
    first: { ...item, status: "in_progress", result: null },
    last: {
      ...item,
      status: "completed",
      result: data ?? url,
      ...(format !== undefined && { output_format: format }),
    },
  };
}

/** The image of an item, if it has one, as an entry of `images`. */
export function writeImage(item: Fields): Fields | undefined {
  const result = filledText(item.result);
  if (item.type !== TYPE || result === undefined) return undefined;
  const format = filledText(item.output_format) ?? "png";
  const url = /^https?:/.test(result) ? result : `data:image/${format};base64,${result}`;
  return { type: "image_url", image_url: { url } };
}

/** Of items that an upstream works on itself, chat can show images; the others are reported as dropped. */
export function writeHosted(
  item: Fields,
  choice: number,
  { report }: WriteContext,
): Fields | undefined {
  const image = writeImage(item);
  const type = (filledText(item.type) ?? "item").slice(0, 60);
  if (image === undefined)
    report?.({
      path: `output.choices[${choice}]`,
      action: "dropped",
      reason: `a chat answer has no form for \`${type}\``,
    });
  return image;
}

/** Where an answer keeps what was thought, as plain text. */
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

/** Where an entry of `reasoning_details` or `thinking_blocks` keeps what is streamed in pieces. */
const grows = ["text", "summary", "data", "thinking"] as const;

/** Adds a chunk's `reasoning_details` to what came before it. */
export function addDetails(known: Fields[], more: readonly unknown[]): void {
  for (const raw of more) {
    const piece = fieldsOf(raw);
    if (piece === undefined) continue;
    const last = known.at(-1);
    if (last === undefined || !isMore(last, piece)) {
      known.push(piece);
      continue;
    }
    const joined: Record<string, unknown> = { ...last };
    for (const [key, value] of Object.entries(piece))
      if (value !== null && value !== undefined) joined[key] = value;
    for (const key of grows)
      if (typeof last[key] === "string" && typeof piece[key] === "string")
        joined[key] = last[key] + piece[key];
    known[known.length - 1] = joined;
  }
}

/** Whether an entry is another piece of the one before it. Sealed ones are whole unless they are numbered. */
const isMore = (last: Fields, piece: Fields): boolean =>
  last.type === piece.type &&
  last.index === piece.index &&
  (piece.id == null || last.id == null || piece.id === last.id) &&
  (piece.index !== undefined || piece.data === undefined);

/** Adds a piece of what nobody here understands to what came before it: texts and lists go on. */
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

/** Whether they hold more than a person can read: what their model knows them again by. */
export const areSigned = (details: readonly unknown[] | undefined): boolean =>
  details?.some((raw) => {
    const { signature, data } = fieldsOf(raw) ?? {};
    return (filledText(signature) ?? filledText(data)) !== undefined;
  }) === true;

/** What a person can read of them. */
export function detailsText(details: readonly unknown[]): string {
  return details
    .map((raw) => {
      const detail = fieldsOf(raw);
      return (
        filledText(detail?.text) ??
        filledText(detail?.summary) ??
        filledText(detail?.thinking) ??
        ""
      );
    })
    .join("");
}

/** One part of an answer's content, as what it counts. */
export type AnswerPart = {
  readonly type: "text" | "reasoning" | "refusal";
  readonly text: string;
  /** The part itself, where it is signed and has to be sent back unchanged. */
  readonly signed?: Fields | undefined;
};

/** Chat answers in plain text; providers that answer in parts each have their own types for them. */
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

/** The fields of a message that have a place in our events. */
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

/** The fields of a message or delta that only its provider has: those of reasoning, and the others. */
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

/** The fields of an answer that have a place in our events, or none worth keeping. */
export const answerFields = new Set("id object created model choices usage obfuscation".split(" "));
/** Those of an entry of its choices. */
export const choiceFields = new Set(
  "index delta message text logprobs finish_reason error".split(" "),
);

/** Fields that only a provider has, which most repeat in every frame: gives those that changed. */
export class VendorFields {
  readonly #known: ReadonlySet<string>;
  readonly #seen = new Map<string, unknown>();

  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  changed(raw: Fields): Fields | undefined {
    let fresh: Record<string, unknown> | undefined;
    for (const key in raw) {
      const value = raw[key];
      if (this.#known.has(key) || isNothing(value)) continue;
      const text = typeof value === "object" ? comparable(value) : value;
      if (this.#seen.get(key) === text) continue;
      this.#seen.set(key, text);
      (fresh ??= {})[key] = value;
    }
    return fresh;
  }
}

/** Equal for equal values; one nested too deep for JSON counts as changed every time. */
function comparable(value: unknown): unknown {
  try {
    return JSON.stringify(value);
  } catch {
    return value;
  }
}
