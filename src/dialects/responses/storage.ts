/** Answers of the Responses API as they are kept, to be retrieved and continued. */

import { isFields, jsonOf } from "../../json/json.ts";
import { itemIds, type ItemIds } from "../../turn/item-ids.ts";
import { SHARED_LENGTH } from "../../turn/shared-text.ts";
import type { Fields, Item } from "../../turn/turn.ts";
import type { KeptAnswer, KeptItem, StorageForm } from "../dialect.ts";
import { conversations } from "./conversations.ts";
import { readItem } from "./items.ts";
import { kindOfCall } from "./kinds.ts";
import { responsesDoor } from "./route.ts";

export const storage: StorageForm = {
  route: responsesDoor,
  isOwn: (json) => OWN.test(json),
  isWanted: ({ params }) => params.store !== false,
  previousIn: ({ previous_response_id: id }) => (typeof id === "string" ? id : undefined),
  inputOf({ input }, newId) {
    const ids = itemIds(newId);
    if (typeof input === "string") return [keptItem(userMessage(input), ids)];
    return Array.isArray(input) ? input.filter(isFields).map((item) => keptItem(item, ids)) : [];
  },
  readItems: (items) => items.map(readKept),
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
  conversations,
  shownItem: (item) => (isMessage(item) ? { ...item, content: partsOf(item) } : item),
};

/** All that is kept here begins so, whoever wrote it. */
const OWN = /^\{"id":"(?:[^"\\]|\\.)*","object":"response"/;

/** The id of the answer in a body or an event. The API writes the id as the first field of the answer. */
const ANSWER_ID =
  /^(\s*\{(?:(?:\s*"(?:type|sequence_number)"\s*:\s*(?:"[^"\\]*"|\d+)\s*,)*\s*"response"\s*:\s*\{)?\s*"id"\s*:\s*)"(?:[^"\\]|\\.)*"/;
/** Matches no text within a string, because quotes are escaped there. */
const PREVIOUS = /("previous_response_id"\s*:\s*)"(?:[^"\\]|\\.)*"/;

const userMessage = (text: string): Fields => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }],
});

const isMessage = ({ type, role }: Fields): boolean =>
  type === "message" || (type == null && role !== undefined);

/** The API lists what was sent as one text in parts, as it does all else. */
function partsOf({ role, content }: Fields): unknown {
  if (typeof content !== "string") return content;
  return role === "assistant"
    ? [{ type: "output_text", text: content, annotations: [], logprobs: [] }]
    : [{ type: "input_text", text: content }];
}

/** Items of the input have ids too, so that they can be listed and referred to. */
function keptItem(item: Fields, ids: ItemIds): KeptItem {
  const { id: own } = item;
  if (typeof own === "string" && own !== "") return { id: own, json: itemText(own, item) };
  const id = ids.next(prefixOf(item));
  return { id, json: itemText(id, item), group: ids.group };
}

function itemText(id: string, item: Fields): string {
  const { id: _id, type: ownType, ...rest } = item;
  const isText = isMessage(item);
  const type = ownType ?? (isText ? "message" : undefined);
  return JSON.stringify({
    id,
    ...(type !== undefined && { type }),
    ...rest,
    ...(isText && rest.status == null && { status: "completed" }),
  });
}

const readPlace = { path: "previous_response_id", repair: () => {} };

function prefixOf(item: Fields): string {
  if (isMessage(item)) return "msg";
  if (item.type === "reasoning") return "rs";
  return kindOfCall(String(item.type))?.prefix ?? "item";
}

const readKept = (raw: unknown): Item => readItem(raw, readPlace);

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
