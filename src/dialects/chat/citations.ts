import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, numberOf, filledText } from "../shared/loose.ts";
import { hasShape } from "../shared/plain.ts";

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

/** Whether an annotation is as the API writes it. */
export const isOwnAnnotation = (raw: unknown): boolean =>
  hasShape(fieldsOf(raw)?.url_citation, citation);
