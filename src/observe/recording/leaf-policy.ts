/** Decides which values of a request, an answer or a frame are content and which are words of an API. */

import { fieldKeys, type Container, type Leaf } from "./json-leaves.ts";

const wordsIn = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Every value of the APIs and of Codex consists of these words, such as `tool_use` or `inProgress`. */
const vocabulary = wordsIn(`
  aac abort access account action active adaptive added addition additional advisor agent all
  allowed analysis annotation answer anthropic any apc apco application apply approval approximate
  arguments armor array assistant audio auto base64 based bash batch binary block blocklist bm25
  boolean break browser cache call calls canceled cancelled changed char chat chatcmpl choice chunk
  ci citation citations claude clean clear cleared click cmp cmpl code codex commentary compacting
  compaction complete completed completion computer concise config container content context
  continuation control conv conversation create created critic css csv ctc ctco cu custom danger
  date default delete deleted delta demand detailed developer diff direct disabled discriminator
  document done double drag duration dynamic edit editor email enabled encrypted end eos ephemeral
  error exact exceeded exec execution explicit extra fail failed fallback false fc fco fetch file
  filter final find flac flex float frame fs full function functions gemini gen generating
  generation gif goal google grammar harness heic high hostname html idle ig image in incomplete
  initialize initialized inject input insufficient int32 int64 integer interpreter interpreting
  interrupt interrupted ipv4 ipv6 item items jailbreak javascript jpeg jpg json json5 jsonc jsonl
  keypress language lark length limits list loaded local location logprobs logs low lsh lsho
  malformed many markdown max mcp mcpa mcpl mcpr mcptoolu medium memory message messages mid
  minimal missing model move mp3 mp4 mpeg msg namespace never none not note null number object
  octet off ogg ok omitted on only open openai operation opus other output outputs page part
  partial patch path pause pcm16 pdf pending ping plain png preview priority progress prohibited
  queued quicktime rate raw read reasoning recitation redacted reference refusal regex reminder
  remote removal replace req request required resource resp response responses result results
  resume revert reverted rs running safety scale schema screenshot scripted scroll search searching
  sequence server settings sh shell sho signature single sources spii srvtoolu sse standard start
  started state status steer stop str stream string succeeded success summarized summary svg system
  text thinking thread time token tokens toml too tool tools toolset toolu transcript trigger true
  tsc tso turn txt type ultra unexpected unknown unspecified unsubscribe unsubscribed untrusted
  update updated upload uri url usage use user uses uuid v1 validated vendor video view wait
  warning wav web webm webp window workspace write ws x xai xhigh xml yaml zip
`);

/** True if a value consists of words of the APIs and of dates of versions alone. */
export function isApiWord(value: string): boolean {
  if (value === "") return true;
  if (value.length > 80 || !/^[a-zA-Z][\w.:/+-]*$/.test(value)) return false;
  const words = value
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase()
    .split(/[^a-z\d]+/);
  return words.every((word) => vocabulary.has(word) || /^(?:20\d{6}|\d{2}|20\d\d)$/.test(word));
}

/** Keys with such values, in snake case. Values of all other keys are content. */
const enumKeys = wordsIn(`
  type role object status event method kind code param reason phase finish_reason stop_reason
  native_finish_reason stop effort syntax detail service_tier encoding format verbosity truncation
  tool_choice function_call include modalities jsonrpc display choice of dialect approval_policy
  sandbox summary generate_summary mode required container direction media_type mime_type
  response_mime_type block_reason thinking_level thought
`);

/** The prefix of an id that names its kind. The rest of the id is arbitrary. */
export function kindPrefix(id: string): string {
  const [prefix = "", word = ""] = /^([a-z]+)[_.-]/.exec(id) ?? [];
  return vocabulary.has(word) ? prefix : "";
}

/** Keys of objects and texts that a client or a model wrote. */
const contentKeys = wordsIn(
  "arguments args input metadata parsed parsed_arguments structuredContent",
);
/** Keys of lists and numbers that a client or a model wrote. */
const valueKeys = wordsIn("bytes enum const default examples example numberValue number_value");
const schemaMaps = wordsIn("properties $defs definitions patternProperties");
/** Keywords of a schema that list keys. */
const keyLists = wordsIn("required property_ordering dependent_required dependencies");

/** Requests are not nested deeper; deeper values are masked as content. */
const DEEPEST = 100;

/** True within a value that a client or a model wrote, such as the arguments of a call. */
function isContent(container: Container): boolean {
  const { parent, key, isList, depth } = container;
  if (parent === undefined || depth > DEEPEST) return parent !== undefined;
  return (container.isContent ??=
    isContent(parent) ||
    // A property of a schema may have any name. A list of items is named `input` too.
    (!schemaMaps.has(`${parent.key}`) &&
      (valueKeys.has(`${key}`) ||
        (!isList && contentKeys.has(`${key}`)) ||
        // Elsewhere a key of this name holds an answer of an API.
        (key === "response" && /^function_?response$/i.test(`${parent.key}`)))));
}

/** Words of clients and of the configuration that bundles keep. */
export type KnownWords = {
  /** Names of declared tools; empty if names are masked. */
  readonly tools: Set<string>;
  readonly keys: Set<string>;
  /** Models of the configuration. */
  readonly models: ReadonlySet<string>;
};

/** The side that wrote a document. A client chose everything in a request. */
export type WireOrigin = "request" | "upstream" | "reply";

/** The way to mask a leaf. `model`: the model that an upstream names. `sentence`: the text of an error. */
export type Treatment =
  | "kept"
  | "masked"
  | "number"
  | "key"
  | "id"
  | "model"
  | "sentence"
  | "pattern";

const ID_KEY = /(?:^|_)ids?$/;

export function treatmentOf(
  leaf: Leaf,
  value: string,
  { known, origin }: { readonly known: KnownWords; readonly origin: WireOrigin },
): Treatment {
  const { type, container } = leaf;
  if (type === "key") return "key";
  const word = wordOf(leaf);
  const isOfContent = isContent(container);
  if (type === "number")
    return isOfContent || ID_KEY.test(word) || valueKeys.has(word) ? "number" : "kept";
  if (isOfContent) return "masked";
  if (origin !== "request" && isOfError(leaf)) return "sentence";
  if (ID_KEY.test(word) && word !== "user_id") return "id";
  if (/^(?:name|namespace|tool|tool_name|allowed_function_names)$/.test(word))
    return known.tools.has(value) ? "kept" : "masked";
  if (word === "model" || word === "model_version") {
    if (known.models.has(value)) return "kept";
    return origin === "request" ? "masked" : "model";
  }
  if (word === "pattern") return "pattern";
  const isOfApi =
    (word === "$ref" && value.startsWith("#/")) ||
    (word === "$schema" && /^https?:\/\/json-schema\.org\/[\w/.-]*schema#?$/.test(value)) ||
    (keyLists.has(word) && known.keys.has(value)) ||
    // A path of keys that are kept too.
    (word === "create_time" && /^[\dT:.Z-]+$/.test(value)) ||
    (word === "json_path" && /^\$[\w.[\]-]*$/.test(value));
  // Stop sequences of a request have the same mask in texts.
  const isStop = origin === "request" && word === "stop";
  return isOfApi || (!isStop && enumKeys.has(word) && isApiWord(value)) ? "kept" : "masked";
}

/** The key of a value in snake case; for an entry of a list, the key of the list. */
const wordOf = ({ container, key }: Leaf): string =>
  `${typeof key === "number" ? container.key : key}`
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase();

const errorKeys = wordsIn("error errors fault base_resp last_error details incomplete_details");
const errorTexts = wordsIn("message msg detail reason status_msg error_message");
const errorWords = wordsIn("code type status param error_code");

/** True for the sentence of an error and for the words beside it. */
function isOfError({ container, key }: Leaf): boolean {
  const isRoot = container.depth <= 1;
  if (typeof key === "number") return false;
  if (key === "error") return isRoot;
  const owner = container.parent?.isList === true ? container.parent.key : container.key;
  if (errorKeys.has(`${owner}`)) return errorTexts.has(key) || errorWords.has(key);
  return isRoot && (errorTexts.has(key) || (errorWords.has(key) && key !== "type"));
}

/** True for a key that names a field. Such keys are kept. */
export const isName = (key: string): boolean => /^[\w$@.:/#-]{0,64}$/.test(key);

const toolLists = wordsIn("tools functions functionDeclarations dynamicTools");

/** The meaning of a leaf of a request for all documents: a key of a schema, a stop sequence or the name of a tool. */
export function learnedFrom(leaf: Leaf): "key" | "stop" | "tool" | undefined {
  const { type, container } = leaf;
  if (type === "number" || isContent(container)) return undefined;
  if (type === "key") return schemaMaps.has(`${container.key}`) ? "key" : undefined;
  const word = wordOf(leaf);
  if (word === "stop" || word === "stop_sequences") return "stop";
  if (word !== "name" && word !== "namespace") return undefined;
  let at: Container | undefined = container;
  for (let up = 0; at !== undefined && up < 6; up++, at = at.parent)
    if (at.isList && toolLists.has(`${at.key}`)) return "tool";
  return undefined;
}

/** Keys of texts that come in pieces, by the list with the pieces. */
const pieceKeys: ReadonlyMap<string, string> = new Map([
  ["parts", "text"],
  ["partialArgs", "stringValue"],
]);

/** The label that all pieces of one streamed text share; undefined for a whole text. */
export function streamOf({ container, key }: Leaf): string | undefined {
  if (container.depth > DEEPEST) return undefined;
  let label = `${key}`;
  let isPiece = key === "delta" || key === pieceKeys.get(`${container.parent?.key}`);
  for (let at: Container | undefined = container; at !== undefined; at = at.parent) {
    const { fields } = at;
    isPiece ||= at.key === "delta";
    isPiece ||= /delta/i.test(`${fields.get("type")} ${fields.get("method")}`);
    const own = [...fieldKeys].flatMap((name) =>
      name === "method" ? [] : (fields.get(name) ?? []),
    );
    // An entry with a numbered field may have any index in its list, and so may a frame of a list.
    const isFrame = at.depth === 2 && at.parent?.isList === true;
    label = `${fields.has("index") || isFrame ? "" : at.key}(${own.join(",")})/${label}`;
  }
  return isPiece ? label : undefined;
}
