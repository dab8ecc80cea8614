/** Which values of a request, an answer or a frame are content, and which say what the content is. */

import { enumKeys, isApiWord, mediaTypes } from "./api-words.ts";
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
/** Where a schema names its own keys. */
const keyLists = new Set("required propertyOrdering dependentRequired dependencies".split(" "));

/** Deeper than any request is; what is deeper is content. */
const DEEPEST = 100;

/** What stands in an object or list, by the keys on the way to it. */
export function zoneOf(container: Container): Zone {
  if (container.zone !== undefined) return container.zone;
  const { parent, key, depth } = container;
  const zone: Zone =
    depth > DEEPEST ? "content" : parent === undefined ? "wire" : innerZone(zoneOf(parent), key);
  return (container.zone = zone);

  function innerZone(outer: Zone, name: string | number): Zone {
    switch (outer) {
      case "content":
        return "content";
      case "schema":
        if (schemaMaps.has(`${name}`)) return "schemas";
        return schemaValues.has(`${name}`) && parent?.isList === false ? "content" : "schema";
      case "schemas":
        return "schema";
      case "wire":
        if (schemaKeys.has(`${name}`) && !container.isList) return "schema";
        // A list of items is called `input` too.
        return contentKeys.has(`${name}`) && (!container.isList || name === "bytes")
          ? "content"
          : "wire";
      default:
        return outer satisfies never;
    }
  }
}

/** What a mask knows of a turn: the words that others chose, and that bundles keep. */
export type KnownWords = {
  /** Names of tools that are declared; none where they are masked. */
  readonly tools: ReadonlySet<string>;
  /** Keys of schemas. */
  readonly keys: ReadonlySet<string>;
  readonly models: ReadonlySet<string>;
};

/** Where a document comes from: of a request, all is what a client chose. */
export type Origin = "request" | "upstream" | "reply";

/** `sentence`: words of an error, which say why. `model`: what an upstream says gave the answer. */
export type Treatment = "kept" | "masked" | "id" | "model" | "sentence" | "pattern";

const ID_KEY = /(?:^id|_ids?|(?:thread|turn|call|item|expectedTurn|request)Id)$|^ids$/;
const isIdKey = (key: string): boolean => ID_KEY.test(key) && key !== "user_id";

/** What becomes of a string. */
export function treatmentOf(
  leaf: Leaf,
  value: string,
  { known, origin }: { readonly known: KnownWords; readonly origin: Origin },
): Treatment {
  const { container, key } = leaf;
  const zone = zoneOf(container);
  const word = typeof key === "number" ? `${container.key}` : key;
  if (zone === "content") return "masked";
  if (zone !== "wire") return inSchema(word, value, known.keys);
  if (origin !== "request" && isOfError(leaf)) return "sentence";
  if (isIdKey(word)) return "id";
  // Stop sequences stand in texts too, and become the same there.
  const isStop = origin === "request" && word === "stop";
  if (!isStop && keeps(word, value, known)) return "kept";
  return word === "model" && origin !== "request" ? "model" : "masked";
}

function keeps(word: string, value: string, known: KnownWords): boolean {
  switch (word) {
    case "name":
    case "namespace":
    case "tool":
    case "toolName":
      return known.tools.has(value);
    case "model":
      return known.models.has(value);
    case "media_type":
    case "mime_type":
    case "mimeType":
      return mediaTypes.has(value);
    default:
      return enumKeys.has(word) && isApiWord(value);
  }
}

function inSchema(word: string, value: string, keys: ReadonlySet<string>): Treatment {
  if (word === "pattern") return "pattern";
  const isOwn =
    ((word === "type" || word === "format") && isApiWord(value)) ||
    (word === "$ref" && value.startsWith("#/")) ||
    (word === "$schema" && /^https?:\/\/json-schema\.org\/[\w/.-]*schema#?$/.test(value)) ||
    (keyLists.has(word) && keys.has(value));
  return isOwn ? "kept" : "masked";
}

const errorKeys = new Set(
  "error errors fault base_resp last_error details incomplete_details".split(" "),
);
const errorTexts = new Set("message msg detail reason status_msg error_message".split(" "));
const errorWords = new Set("code type status param error_code".split(" "));

/** True for the sentence of an error and for the words beside it. */
function isOfError({ container, key }: Leaf): boolean {
  const isRoot = container.depth <= 1;
  if (typeof key === "number") return false;
  if (key === "error") return isRoot;
  const owner = container.parent?.isList === true ? container.parent.key : container.key;
  if (errorKeys.has(`${owner}`)) return errorTexts.has(key) || errorWords.has(key);
  return isRoot && (errorTexts.has(key) || (errorWords.has(key) && key !== "type"));
}

/** Whether a number is content. */
export const isMaskedNumber = ({ container, key }: Leaf): boolean => {
  const zone = zoneOf(container);
  if (zone === "content") return true;
  return zone === "wire"
    ? ID_KEY.test(`${key}`)
    : typeof key === "string" && zone === "schema" && schemaValues.has(key);
};

/** Keys are kept where they are names, as those of a schema are. */
export const isName = (key: string): boolean => /^[\w$@.:/#-]{0,64}$/.test(key);

const numbered = ["type", "index", "item_id", "output_index", "content_index", "summary_index"];

/**
 * What a piece of content goes on with: pieces of one label, in their order, are
 * one text. Undefined: it is whole.
 */
export function streamOf({ container, key }: Leaf): string | undefined {
  if (container.depth > DEEPEST) return undefined;
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
