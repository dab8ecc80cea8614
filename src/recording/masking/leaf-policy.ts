/** Which values of a request, an answer or a frame are content, and which say what the content is. */

import type { Container, Leaf } from "./json-leaves.ts";

/**
 * `wire`: the words of an API. `content`: what somebody wrote or a model said, such
 * as the arguments of a call. `schema`, `schemas`: a JSON Schema, and schemas by name.
 */
export type Zone = "wire" | "content" | "schema" | "schemas";

const contentKeys = new Set(
  "arguments args input metadata parsed parsed_arguments structuredContent bytes".split(" "),
);
const schemaKeys = new Set("parameters input_schema inputSchema schema output_schema".split(" "));
const schemaMaps = new Set("properties $defs definitions patternProperties".split(" "));
const schemaValues = new Set("enum const default examples example".split(" "));
const schemaTexts = new Set("description title $comment".split(" "));

/** What stands in an object or list, by the keys on the way to it. */
export function zoneOf(container: Container): Zone {
  const { parent, key } = container;
  if (parent === undefined) return "wire";
  const outer = zoneOf(parent);
  switch (outer) {
    case "content":
      return "content";
    case "schema":
      if (schemaMaps.has(`${key}`)) return "schemas";
      return schemaValues.has(`${key}`) && !parent.isList ? "content" : "schema";
    case "schemas":
      return "schema";
    case "wire":
      if (schemaKeys.has(`${key}`) && !container.isList) return "schema";
      // A list of items is called `input` too.
      return contentKeys.has(`${key}`) && (!container.isList || key === "bytes")
        ? "content"
        : "wire";
    default:
      return outer satisfies never;
  }
}

/** Keys whose values are names, kinds, ids and states in every API that is spoken here. */
const kept = new Set(
  (
    "type role object model status id name namespace event method kind code param reason phase " +
    "finish_reason stop_reason native_finish_reason stop stop_sequence stop_sequences effort syntax " +
    "media_type mime_type mimeType detail service_tier system_fingerprint encoding format verbosity " +
    "truncation tool_choice function_call include modalities betas jsonrpc version server_label " +
    "threadId turnId callId itemId expectedTurnId tool toolName provider modelProvider display " +
    "choice of dialect approvalPolicy sandbox ids required container summary generate_summary mode"
  ).split(" "),
);

/** No blanks, quotes or brackets that content has and names have not. */
const NAME = /^[\w.:/@+*[\]-]{0,200}$/;

/** Whether a string stays as it is. */
export function isKept(leaf: Leaf, value: string, { names }: { readonly names: boolean }): boolean {
  const { container, key } = leaf;
  const zone = zoneOf(container);
  if (zone === "content") return false;
  const word = typeof key === "number" ? `${container.key}` : key;
  if (zone !== "wire") return !schemaTexts.has(word) && !schemaValues.has(word);
  if (!kept.has(word) && !/(?:_id|_ids)$/.test(word)) return false;
  if (word === "stop" || word.startsWith("stop_seq")) return true;
  if (word === "name" || word === "namespace")
    return names && NAME.test(value) && isTool(container);
  // A summary is a text where it is no word of the API.
  if (word === "summary" || word === "input") return /^(?:auto|concise|detailed|none)$/.test(value);
  return NAME.test(value);
}

/** A message may have the name of who wrote it. */
const isTool = ({ fields }: Container): boolean =>
  !/^(?:user|system|developer|assistant)$/.test(fields.get("role") ?? "");

/** Whether a number is content. */
export const isMaskedNumber = ({ container }: Leaf): boolean => zoneOf(container) === "content";

/** Keys are kept where they are names, as those of a schema are. */
export const isName = (key: string): boolean => /^[\w$@.:/#-]{0,64}$/.test(key);

const numbered = ["type", "index", "item_id", "output_index", "content_index", "summary_index"];

/**
 * What a piece of content goes on with: pieces of one label, in their order, are
 * one text. Undefined: it is whole.
 */
export function streamOf({ container, key }: Leaf): string | undefined {
  let label = `${key}`;
  let isPiece = key === "delta";
  for (let at: Container | undefined = container; at !== undefined; at = at.parent) {
    if (at.key === "delta" || /delta/i.test(at.fields.get("type") ?? "")) isPiece = true;
    if (/delta/i.test(at.fields.get("method") ?? "")) isPiece = true;
    const own = numbered.flatMap((name) => at.fields.get(name) ?? []).join(",");
    // A place in a list says nothing where what stands there has a number.
    label = `${at.fields.has("index") ? "" : at.key}(${own})/${label}`;
  }
  return isPiece ? label : undefined;
}
