/** The parts of a Messages answer that are not blocks, each read and written: ends, counts and citations. */

import type { StopReason, Usage } from "../../turn/event.ts";
import type { Extra, Fields } from "../../turn/turn.ts";
import { ownExtra } from "../shared/content.ts";
import {
  countOf,
  counted,
  fieldsOf,
  filledText,
  given,
  hasShape,
  meaningsOf,
} from "../shared/loose.ts";

const stops = meaningsOf<StopReason>({
  end: "end_turn stop_sequence compaction",
  pause: "pause_turn",
  calls: "tool_use",
  length: "max_tokens model_context_window_exceeded",
  filter: "refusal",
});

const reasons: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  calls: "tool_use",
  length: "max_tokens",
  filter: "refusal",
  pause: "pause_turn",
};

/** An unknown stop reason counts as a usual end. */
export const readStop = (reason: string): StopReason => stops.get(reason) ?? "end";

/** Reasons that other dialects can express. */
const plain: ReadonlySet<unknown> = new Set(["end_turn", "tool_use", "max_tokens"]);

/** The fields of an end that other dialects do not have, such as the stop sequence. */
export function stopExtra(delta: Fields): { readonly extra?: Extra } {
  const { stop_reason, stop_sequence, stop_details, container } = delta;
  const more = given({ stop_sequence, stop_details, container });
  if (plain.has(stop_reason) && Object.keys(more).length === 0) return {};
  return { extra: { dialect: "messages", fields: { stop_reason, ...more } } };
}

/** The end of an answer. The fields of its upstream are kept; its reason is, if it is still the same end. */
export function writeStop(stop: StopReason, extra: Extra | undefined): Fields {
  const own = extra?.dialect === "messages" ? extra.fields : {};
  const { stop_reason, stop_sequence = null, ...more } = own;
  const reason = filledText(stop_reason);
  return reason !== undefined && readStop(reason) === stop
    ? { stop_reason: reason, stop_sequence, ...more }
    : { stop_reason: reasons[stop], stop_sequence: null, ...more };
}

const counts = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
] as const;

const known: ReadonlySet<string> = new Set([...counts, "output_tokens_details"]);

/** Reads the counts of one answer: later ones replace earlier ones. */
export class UsageReader {
  readonly #counts: { [Name in (typeof counts)[number]]?: number } = {};
  #thinking: number | undefined;
  #extra: Record<string, unknown> | undefined;

  /** Reads a `usage` object and returns the counts so far; undefined if the object has no counts. */
  each(raw: unknown): Usage | undefined {
    const usage = fieldsOf(raw);
    if (usage === undefined) return undefined;
    let hasCounts = false;
    for (const name of counts) {
      const count = countOf(usage[name]);
      if (count === undefined) continue;
      this.#counts[name] = count;
      hasCounts = true;
    }
    // Compatible servers may use the names of another dialect.
    if (!hasCounts) return counted(usage);
    for (const [key, value] of Object.entries(usage))
      if (!known.has(key) && value != null) (this.#extra ??= {})[key] = value;
    const { thinking_tokens } = fieldsOf(usage.output_tokens_details) ?? {};
    this.#thinking = countOf(thinking_tokens) ?? this.#thinking;
    const { input_tokens = 0, output_tokens: output = 0, ...cache } = this.#counts;
    const { cache_read_input_tokens: cached, cache_creation_input_tokens: cacheWrite } = cache;
    // The input of this dialect does not include cached tokens, that of all others does.
    const input = input_tokens + (cached ?? 0) + (cacheWrite ?? 0);
    const extra = this.#extra && { extra: { dialect: "messages", fields: { ...this.#extra } } };
    const total = input + output;
    return { input, output, total, cached, cacheWrite, reasoning: this.#thinking, ...extra };
  }
}

/** True if the strictest readers accept the counts as they are. */
export const isWholeUsage = (raw: unknown): boolean =>
  hasShape(raw, { input_tokens: "number", output_tokens: "number" });

/** Unknown counts are written as 0, because clients fail on null. */
export function writeUsage(usage: Usage | undefined): Fields {
  const { input = 0, output = 0, cached, cacheWrite, reasoning, extra } = usage ?? {};
  return {
    ...ownExtra(extra, "messages"),
    input_tokens: Math.max(0, input - (cached ?? 0) - (cacheWrite ?? 0)),
    cache_creation_input_tokens: cacheWrite ?? 0,
    cache_read_input_tokens: cached ?? 0,
    output_tokens: output,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

/** An annotation of a turn is flat, `{type, url, ...}`; it contains the citation for its own dialect. */
export function readCitation(raw: unknown): unknown {
  const citation = fieldsOf(raw);
  const url = filledText(citation?.url);
  if (citation === undefined || url === undefined) return raw;
  return {
    type: "url_citation",
    url,
    title: filledText(citation.title) ?? url,
    start_index: 0,
    end_index: 0,
    citation,
  };
}

/** Undefined for annotations that are not citations in this dialect. */
export function writeCitation(annotation: unknown): Fields | undefined {
  const fields = fieldsOf(annotation);
  const own = fieldsOf(fields?.citation);
  if (own !== undefined) return own;
  if (filledText(fields?.type)?.endsWith("_location") === true) return fields;
  const url = filledText(fields?.url);
  if (fields?.type !== "url_citation" || url === undefined) return undefined;
  return {
    type: "web_search_result_location",
    url,
    title: filledText(fields.title) ?? url,
    cited_text: filledText(fields.cited_text) ?? "",
    encrypted_index: "",
  };
}

/** True if a provider takes the citation back: one that it did not make has no index to find it by. */
export const isOwnCitation = (citation: Fields): boolean =>
  citation.type !== "web_search_result_location" ||
  filledText(citation.encrypted_index) !== undefined;
