/** The parts of text that answers have and requests repeat: annotations and log-probabilities. */

import type { Fields, Part } from "../../turn/turn.ts";
import type { OnReason } from "../shared/content.ts";
import { fieldsOf, numberOf } from "../shared/loose.ts";

/**
 * Removes fields that the API refuses from past text: the citation in an annotation that was made
 * of one, and, for clients of other dialects, annotations of types that the API does not have.
 */
export function withKnownAnnotations(
  parts: readonly Part[],
  isOwn: boolean,
  report: OnReason,
): readonly Part[] {
  return parts.map((part) => {
    if (part.type !== "text" || part.annotations === undefined) return part;
    const annotations = part.annotations.flatMap((one) => {
      const known = isOwn ? one : writeResponsesAnnotation(one);
      return known === undefined ? [] : [withoutCitation(known)];
    });
    if (annotations.length < part.annotations.length)
      report("the responses dialect has no such annotation");
    return { ...part, annotations };
  });
}

function withoutCitation(annotation: unknown): unknown {
  const fields = fieldsOf(annotation);
  if (fields?.citation === undefined) return annotation;
  const { citation: _, ...known } = fields;
  return known;
}

/** A part of an answer, with every field that readers of answers want. */
export function writeOutputPart(part: Part): Fields | undefined {
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  if (part.type !== "text") return undefined;
  return {
    type: "output_text",
    text: part.text,
    annotations: (part.annotations ?? []).flatMap((one) => writeResponsesAnnotation(one) ?? []),
    logprobs: writeLogprobs(part.logprobs),
  };
}

const annotationTypes = new Set<unknown>([
  "url_citation",
  "file_citation",
  "container_file_citation",
  "file_path",
]);

/** The API has these annotations and no others, and its readers want every field of a citation. */
export function writeResponsesAnnotation(annotation: unknown): Fields | undefined {
  const fields = fieldsOf(annotation);
  if (fields === undefined || !annotationTypes.has(fields.type)) return undefined;
  if (fields.type !== "url_citation") return fields;
  const { url, title, start_index: start, end_index: end } = fields;
  if (typeof url !== "string") return undefined;
  return {
    ...fields,
    title: typeof title === "string" ? title : url,
    start_index: numberOf(start) ?? 0,
    end_index: numberOf(end) ?? 0,
  };
}

/** True if the annotation can be shown unchanged. */
export function isOwnAnnotation(annotation: unknown): boolean {
  const fields = fieldsOf(annotation);
  const shown = writeResponsesAnnotation(annotation);
  return (
    shown !== undefined &&
    ["title", "start_index", "end_index"].every((key) => shown[key] === fields?.[key])
  );
}

/** Chat may leave out the bytes and alternatives that Responses requires. */
export const writeLogprobs = (logprobs: readonly unknown[] | undefined): readonly unknown[] =>
  logprobs?.map((entry) => withBytes(entry, { top_logprobs: [] })) ?? [];

function withBytes(entry: unknown, blank: Fields): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  const fields = entry as Fields;
  const { top_logprobs: others } = fields;
  return {
    ...blank,
    ...fields,
    bytes: fields.bytes ?? [],
    ...(Array.isArray(others) && { top_logprobs: others.map((other) => withBytes(other, {})) }),
  };
}
