import { z } from "zod";
import { groupOf } from "../../turn/item-ids.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Fields, Item, Message, Opaque, Reasoning } from "../../turn/turn.ts";
import { given } from "../shared/loose.ts";
import { readItemTools } from "../shared/read-tool.ts";
import { invalid, shaped } from "../shared/shape.ts";
import {
  readCall,
  readResult,
  writeCall,
  writeOutputCall,
  writeResult,
  type FieldContext,
} from "./calls.ts";
import { extraOf, ownExtra, readStatus, silently, statusKey, type Report } from "./fields.ts";
import { isHosted, kindOf, kindOfCall, kindOfResult } from "./kinds.ts";
import { OTHER_PARTS, readContent, writeContent, writeOutputPart } from "./input-parts.ts";
import { toolForm } from "./tools.ts";

const anyItem = z.looseObject({ type: z.string().nullish() });
const messageItem = z.looseObject({
  role: z.enum(["user", "assistant", "system", "developer"]),
  id: z.string().nullish(),
  phase: z.string().nullish(),
});
const paragraphs = z.array(z.looseObject({ text: z.string() })).nullish();
const reasoningItem = z.looseObject({
  id: z.string().nullish(),
  summary: paragraphs,
  content: paragraphs,
  encrypted_content: z.string().nullish(),
});

/**
 * Reads an item of a request. What the client executes becomes a call or a
 * result of its kind; what we do not know stays whole.
 */
export function readItem(raw: unknown, place: FieldContext): Item {
  const { path } = place;
  const item = shaped(anyItem, raw, path);
  const type = item.type ?? ("role" in item ? "message" : undefined);
  if (type === "message") return readMessage(item, place);
  if (type === "reasoning") return readReasoning(item, place);
  if (type !== undefined && !isHosted(item)) {
    const call = kindOfCall(type);
    if (call !== undefined) return readCall(call, item, path);
    const result = kindOfResult(type);
    if (result !== undefined) return readResult(result, item, place);
  }
  // A bare id is a reference to an item.
  if (type === undefined && typeof item.id !== "string")
    throw invalid(`${path}.type`, 'must say what the item is, such as "message"');
  return { type: "opaque", dialect: "responses", raw: item, ...declaredIn(item, path) };
}

/** The tools in an item that is kept whole: declared behind the list, or found by a provider's search. */
function declaredIn(raw: Fields, path: string): Pick<Opaque, "declares"> {
  const { type, tools } = raw;
  const declares = type === "additional_tools" || type === "tool_search_output";
  if (!declares || !Array.isArray(tools)) return {};
  return { declares: readItemTools(tools, `${path}.tools`, toolForm) };
}

function readMessage(raw: Fields, { path, repair }: FieldContext): Message {
  const { role, id, phase } = shaped(messageItem, raw, path);
  return {
    type: "message",
    role,
    parts: readContent(raw.content, `${path}.content`, repair),
    ...given({ id, phase }),
    ...readStatus(raw),
    ...extraOf(raw, ["type", "role", "content", "id", "phase", ...statusKey(raw)]),
  };
}

function readReasoning(raw: Fields, { path, repair }: FieldContext): Reasoning {
  const { id, summary, content, encrypted_content: encrypted } = shaped(reasoningItem, raw, path);
  if (content?.some(({ type }) => type === "text") === true) repair(`${path}.content`, OTHER_PARTS);
  return {
    type: "reasoning",
    summary: summary?.map(({ text }) => text) ?? [],
    content: content?.map(({ text }) => text) ?? [],
    ...given({ id, encrypted }),
    ...readStatus(raw),
    ...extraOf(raw, ["type", "id", "summary", "content", "encrypted_content", ...statusKey(raw)]),
  };
}

/** Writes an item for a request; undefined if this dialect has no form for it. */
export function writeItem<Name extends AnyName>(
  item: Item<Name>,
  report: Report,
): Fields | undefined {
  switch (item.type) {
    case "message":
      return writeMessage(item, report);
    case "reasoning":
      return writeReasoning(item, report);
    case "call":
      return writeCall(item, report);
    case "result":
      return writeResult(item, report);
    case "opaque":
      if (item.dialect === "responses") return item.raw;
      report(`an item that only the ${item.dialect} dialect has`);
      return undefined;
    default:
      return item satisfies never;
  }
}

function writeMessage(item: Message, report: Report): Fields {
  if (item.name !== undefined) report("messages have no `name` in the responses dialect");
  return {
    type: "message",
    role: item.role,
    content: writeContent(item.parts, item.role, report),
    ...given({ id: item.id, status: item.status, phase: item.phase }),
    ...ownExtra(item.extra, report),
  };
}

function writeReasoning(item: Reasoning, report: Report): Fields {
  if (item.details !== undefined) report("the responses dialect has no `reasoning_details`");
  const content = item.content.map((text) => ({ type: "reasoning_text", text }));
  return {
    ...ownExtra(item.extra, report),
    type: "reasoning",
    id: item.id,
    summary: item.summary.map((text) => ({ type: "summary_text", text })),
    ...(content.length > 0 && { content }),
    encrypted_content: item.encrypted,
    ...given({ status: item.status }),
  };
}

/**
 * Writes an item of an answer, with every field that the strictest readers
 * want; undefined if it cannot be shown.
 */
export function writeOutputItem<Name extends AnyName>(
  item: Item<Name>,
  id: string,
): Fields | undefined {
  switch (item.type) {
    case "message":
      return {
        id,
        type: "message",
        status: item.status ?? "completed",
        role: "assistant",
        content: item.parts.map(writeOutputPart).filter((part) => part !== undefined),
        ...given({ phase: item.phase }),
        ...ownExtra(item.extra, silently),
      };
    case "reasoning": {
      // The API says of reasoning only that it is not whole.
      const status = item.status === "incomplete" ? item.status : undefined;
      return { ...writeReasoning({ ...item, status }, silently), id };
    }
    case "call":
      return writeOutputCall(item, id);
    case "result":
      return { ...writeResult(item, silently), id };
    case "opaque":
      return { ...item.raw, id };
    default:
      return item satisfies never;
  }
}

/** What the id of an output item begins with. */
export function idPrefix<Name extends AnyName>(item: Item<Name>): string {
  switch (item.type) {
    case "message":
      return "msg";
    case "reasoning":
      return "rs";
    case "call":
      return kindOf(item.kind).prefix;
    case "result":
    case "opaque":
      return "item";
    default:
      return item satisfies never;
  }
}

/** The id that an item came with. */
export function itemId<Name extends AnyName>(item: Item<Name>): string | undefined {
  if (item.type === "call" || item.type === "result") return item.itemId;
  if (item.type !== "opaque") return item.id;
  const { id } = item.raw;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/**
 * An item without the id that it was given where it was kept: an upstream has
 * never seen it, and the API refuses one that does not begin as it would itself.
 */
export function withoutMadeId<Name extends AnyName>(item: Item<Name>): Item<Name> {
  const made = itemId(item);
  if (made === undefined || groupOf(made) === undefined) return item;
  if (item.type === "call" || item.type === "result") return { ...item, itemId: undefined };
  if (item.type !== "opaque") return { ...item, id: undefined };
  const { id: _, ...raw } = item.raw;
  return { ...item, raw };
}
