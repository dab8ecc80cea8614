/** Answers of the Responses API that are stored, continued, referred to, compacted, and made in the background. */

import { isFields, jsonOf } from "../../json/json.ts";
import { itemIds, type ItemIds } from "../../turn/item-ids.ts";
import type { AnyName } from "../../turn/names.ts";
import { SHARED_LENGTH } from "../../turn/shared-text.ts";
import type { Fields, Item, Message, Part, Turn } from "../../turn/turn.ts";
import type {
  AnswerForm,
  BackgroundForm,
  CompactionForm,
  ConversationForm,
  KeptAnswer,
  KeptItem,
  MissingItem,
  References,
} from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { invalid } from "../shared/shape.ts";
import { readItem, silently, writeItem } from "./items.ts";
import { kindOfCall } from "./kinds.ts";
import { ResponseObject, writeUsage } from "./resource.ts";
import { responsesDoor } from "./traits.ts";
import { frameText } from "./write-events.ts";

/** `conversation` in a request: an id, or an object with one. */
const conversations: ConversationForm = {
  route: "/v1/conversations",
  idIn({ conversation, previous_response_id: previous }) {
    if (conversation === undefined || conversation === null) return undefined;
    const id = isFields(conversation) ? conversation.id : conversation;
    if (typeof id !== "string" || id === "")
      throw invalid("conversation", "must be the id of a conversation, or an object with its `id`");
    if (previous !== undefined && previous !== null)
      throw invalid("conversation", "cannot be used together with `previous_response_id`");
    return id;
  },
  without: (body) => ({ ...body, conversation: undefined, input: body.input ?? [] }),
};

/** The beginning of every stored answer, also of those that an upstream wrote. */
const OWN = /^\{"id":"(?:[^"\\]|\\.)*","object":"response"/;

/** The id of the answer in a body or an event. The API writes the id as the first field of the answer. */
const ANSWER_ID =
  /^(\s*\{(?:(?:\s*"(?:type|sequence_number)"\s*:\s*(?:"[^"\\]*"|\d+)\s*,)*\s*"response"\s*:\s*\{)?\s*"id"\s*:\s*)"(?:[^"\\]|\\.)*"/;
/** Matches no text within a string, because quotes are escaped there. */
const PREVIOUS = /("previous_response_id"\s*:\s*)"(?:[^"\\]|\\.)*"/;

const storedPlace = { path: "previous_response_id", repair: () => {} };

const userMessage = (text: string): Fields => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }],
});

const isMessage = ({ type, role }: Fields): boolean =>
  type === "message" || (type == null && role !== undefined);

/** An item of the input with an id, so that it can be listed and referred to. */
function keptItem(item: Fields, ids: ItemIds): KeptItem {
  const isText = isMessage(item);
  const { id: own, type: given, ...rest } = item;
  const type = given ?? (isText ? "message" : undefined);
  const isNamed = typeof own === "string" && own !== "";
  const id = isNamed ? own : ids.next(isText ? "msg" : prefixOf(type));
  const status = isText && rest.status == null ? { status: "completed" } : undefined;
  const json = JSON.stringify({ id, ...(type !== undefined && { type }), ...rest, ...status });
  return isNamed ? { id, json } : { id, json, group: ids.group };
}

const prefixOf = (type: unknown): string =>
  type === "reasoning" ? "rs" : (kindOfCall(String(type))?.prefix ?? "item");

function keptAnswer({ output, id, tools, ...rest }: Fields): KeptAnswer {
  const items = Array.isArray(output) ? output.filter(isFields) : [];
  const text = JSON.stringify(tools);
  const isShared = tools !== undefined && text.length >= SHARED_LENGTH;
  return {
    json: JSON.stringify({ id, object: "response", ...rest, ...(!isShared && { tools }) }),
    ...(isShared && { shared: { text } }),
    items: items.flatMap((item) =>
      typeof item.id === "string" ? [{ id: item.id, json: JSON.stringify(item) }] : [],
    ),
  };
}

const none: readonly string[] = [];

/** `item_reference` among the input. */
const references: References = {
  idsIn({ input }, areBareToo) {
    if (!Array.isArray(input)) return none;
    let ids: string[] | undefined;
    for (const item of input as readonly unknown[])
      if (isReference(item, areBareToo)) (ids ??= []).push(item.id);
    return ids ?? none;
  },
  resolve(body, found, areBareToo) {
    const { input } = body;
    if (!Array.isArray(input)) return { body, missing: [] };
    const items: readonly unknown[] = input;
    /** An item that is referred to twice is read once. */
    const read = new Map<string, unknown>();
    const missing: MissingItem[] = [];
    const resolved = items.flatMap((item) => {
      if (!isReference(item, areBareToo)) return [item];
      const json = found.get(item.id)?.json;
      if (json === undefined) {
        missing.push({ id: item.id, isIdle: item.type === "reasoning" });
        return [];
      }
      if (!read.has(item.id)) read.set(item.id, jsonOf(json));
      return [read.get(item.id)];
    });
    return { body: { ...body, input: resolved }, missing };
  },
};

/** The fields with the content of an item, for types that have other fields without any. */
const contents: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["reasoning", ["summary", "content", "encrypted_content"]],
  ["image_generation_call", ["result"]],
]);

/**
 * True if an item refers to another: the API allows to leave out its type. `areBareToo`: an item with
 * nothing but its id counts as well, such as reasoning without text and seal.
 */
function isReference(item: unknown, areBareToo: boolean): item is Fields & { readonly id: string } {
  if (!isFields(item) || typeof item.id !== "string") return false;
  const { type, role } = item;
  if (type === "item_reference" || (type == null && role === undefined)) return true;
  if (!areBareToo) return false;
  const keys = contents.get(type) ?? Object.keys(item).filter((key) => !ofReferences.has(key));
  return keys.every((key) => isNothing(item[key]));
}

const ofReferences = new Set(["type", "id", "status"]);

const isNothing = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.every(isEmptyText));
const isEmptyText = (part: unknown): boolean => isFields(part) && part.text === "";

const ended = new Set(["completed", "incomplete", "failed", "cancelled"]);

/** Answers that are made while no client waits. */
const background: BackgroundForm = {
  begun(turn, context) {
    const response = new ResponseObject(turn, {}, context);
    return {
      shown: response.shown({ status: "queued" }),
      kept: response.kept({ status: "in_progress" }),
    };
  },
  stateOf(json) {
    const { status, background: isBackground } = responseIn(json);
    return { isBackground: isBackground === true, isOver: ended.has(String(status)) };
  },
  failed(json, fault) {
    const { code, message } = faultBody(fault).error;
    return JSON.stringify({ ...responseIn(json), status: "failed", error: { code, message } });
  },
  lastFrame(shown, sequence) {
    const { status } = responseIn(shown);
    const name = status === "completed" || status === "incomplete" ? status : "failed";
    return frameText(`response.${name}`, `"response":${shown}`, sequence);
  },
  sequenceIn(frame) {
    const [, number] = SEQUENCE.exec(frame) ?? [];
    return number === undefined ? undefined : Number(number);
  },
  isLast: (frame) => LAST.test(frame),
};

/** The last field of every frame that `frameText` writes. */
const SEQUENCE = /,"sequence_number":(\d+)\}\s*$/;
const LAST = /^event: response\.(?:completed|incomplete|failed)\n/;

function responseIn(json: string): Fields {
  const value = jsonOf(json);
  return isFields(value) ? value : {};
}

const PROMPT = `Summarize the conversation above, so that it can be continued from your summary and the user's own messages alone. Whoever continues it sees nothing else of it: no answers, no calls of tools, no results.

State:
- what the user wants, with every constraint and preference that still holds;
- what was done, decided and found out, and why; keep names, paths, identifiers, numbers and code that are still needed exactly as they are;
- what of the results of tools still matters;
- what is left to do, and what comes next.

Write the summary alone, without an introduction.`;

const HEADING = "Summary of the conversation up to here:\n\n";

/** Compacted conversations: messages of the user and a summary that replaces everything else. */
const compaction: CompactionForm = {
  route: `${responsesDoor}/compact`,
  ask: (turn) => ({
    ...turn,
    items: [...turn.items.flatMap(asText), message("user", PROMPT)],
    // Calls and results become text, because some upstreams refuse them without declared tools.
    tools: [],
    toolChoice: undefined,
    format: undefined,
    stream: false,
  }),
  sealIn: ({ dialect, raw }) =>
    dialect === "responses" &&
    raw.type === "compaction" &&
    typeof raw.encrypted_content === "string"
      ? raw.encrypted_content
      : undefined,
  opened: (summary) => message("assistant", HEADING + summary),
  writeAnswer({ id, created, turn, seal, usage, newId }) {
    const sealed = { id: newId("cmp"), type: "compaction", encrypted_content: seal };
    return JSON.stringify({
      id,
      object: "response.compaction",
      created_at: created,
      output: [...wordsOfUser(turn, newId), sealed],
      usage: writeUsage(usage),
    });
  },
};

const message = (role: Message["role"], text: string): Message => ({
  type: "message",
  role,
  parts: [{ type: "text", text }],
});

function asText<Name extends AnyName>(item: Item<Name>): readonly Message[] {
  switch (item.type) {
    case "message":
      return [item];
    case "call":
      return [message("assistant", `[call ${item.id} of ${item.name}: ${item.input}]`)];
    case "result":
      return [message("user", `[result of call ${item.call}: ${partsText(item.parts)}]`)];
    case "reasoning":
    case "opaque":
      return [];
    default:
      return item satisfies never;
  }
}

const partsText = (parts: readonly Part[]): string =>
  parts
    .map((part) => (part.type === "text" || part.type === "refusal" ? part.text : `[${part.type}]`))
    .join("\n");

const wordsOfUser = ({ items }: Turn, newId: (prefix: string) => string): readonly Fields[] =>
  items.flatMap((item) => {
    if (item.type !== "message" || item.role !== "user") return [];
    const written = writeItem(item, silently);
    return written === undefined
      ? []
      : [{ ...written, id: item.id ?? newId("msg"), type: "message", status: "completed" }];
  });

/** Answers as they are stored. */
export const storedAnswers: AnswerForm = {
  type: "answers",
  route: responsesDoor,
  isOwn: (json) => OWN.test(json),
  isWanted: ({ params }) => params.store !== false,
  previousIn: ({ previous_response_id: id }) => (typeof id === "string" ? id : undefined),
  inputOf({ input }, newId) {
    const ids = itemIds(newId);
    if (typeof input === "string") return [keptItem(userMessage(input), ids)];
    const kept: KeptItem[] = [];
    if (Array.isArray(input))
      for (const item of input) if (isFields(item)) kept.push(keptItem(item, ids));
    return kept;
  },
  readItems: (items) => items.map((item) => readItem(item, storedPlace)),
  answerIn(text) {
    const value = jsonOf(text);
    const response = isFields(value) && isFields(value.response) ? value.response : value;
    return isFields(response) ? keptAnswer(response) : undefined;
  },
  relabel(text, { id, previous }) {
    const place = ANSWER_ID.exec(text);
    if (place === null) return undefined;
    const [all, before = ""] = place;
    const shown = `${before}${JSON.stringify(id)}${text.slice(all.length)}`;
    if (previous === undefined) return shown;
    return shown.replace(PREVIOUS, (_, field: string) => field + JSON.stringify(previous));
  },
  shownAnswer({ json, shared, items }) {
    const tools = shared === undefined ? "" : `,"tools":${shared.text}`;
    return `${json.slice(0, -1)}${tools},"output":[${items.join(",")}]}`;
  },
  references,
  conversations,
  background,
  compaction,
  shownItem(item) {
    const { role, content } = item;
    if (!isMessage(item) || typeof content !== "string") return item;
    // The API lists the content of every message in parts.
    const part =
      role === "assistant"
        ? { type: "output_text", text: content, annotations: [], logprobs: [] }
        : { type: "input_text", text: content };
    return { ...item, content: [part] };
  },
};
