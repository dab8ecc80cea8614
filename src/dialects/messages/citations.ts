import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";

/** An annotation in our words is flat, `{type, url, ...}`; the citation itself goes along for its own dialect. */
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

/** Nothing for what is no citation here. */
export function writeCitation(annotation: unknown): Fields | undefined {
  const said = fieldsOf(annotation);
  const own = fieldsOf(said?.citation);
  if (own !== undefined) return own;
  if (filledText(said?.type)?.endsWith("_location") === true) return said;
  const url = filledText(said?.url);
  if (said?.type !== "url_citation" || url === undefined) return undefined;
  return {
    type: "web_search_result_location",
    url,
    title: filledText(said.title) ?? url,
    cited_text: filledText(said.cited_text) ?? "",
    encrypted_index: "",
  };
}

/** Whether a provider takes it back: one that it did not make itself has no index to find it by. */
export const isOwnCitation = (citation: Fields): boolean =>
  citation.type !== "web_search_result_location" ||
  filledText(citation.encrypted_index) !== undefined;
