import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type {
  Call,
  Fields,
  Item,
  Message,
  Part,
  Reasoning,
  Result,
  Turn,
} from "../../turn/turn.ts";
import { exactJsonOf } from "../../json/exact.ts";
import {
  itemNotes,
  leftOutText,
  type OnReason,
  ownExtra,
  reportForeign,
} from "../shared/content.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";
import { losesCitations, writePart } from "./content-parts.ts";
import { isRedacted } from "./extra.ts";

type WrittenMessages = {
  readonly system: readonly Fields[];
  readonly messages: readonly Fields[];
  readonly decisions: Decision[];
};

/** Writes the conversation: instructions apart, roles in turn, results first and together. */
export function writeMessages(
  turn: Turn<UpstreamName>,
  profile: Profile,
  isPrefillTaken: boolean,
): WrittenMessages {
  const notes = itemNotes(turn);
  const note = notes.add;
  const system: Fields[] = [];
  const list = new MessageList(note, isPrefillTaken);
  const context: Writing = { own: turn.dialect === "messages", profile, note };
  let isAtStart = true;
  for (const item of turn.items) {
    if (isAtStart && isBySystem(item)) {
      reportLost(item, note);
      append(system, writeBlocks(item.parts, context));
    } else {
      isAtStart = false;
      writeItem(item, list, context);
    }
    notes.at++;
  }
  notes.at = Math.max(0, turn.items.length - 1);
  return { system, messages: list.end(), decisions: notes.decisions };
}

type Writing = { readonly own: boolean; readonly profile: Profile; readonly note: OnReason };

function writeItem(item: Item<UpstreamName>, list: MessageList, context: Writing): void {
  const { profile, note } = context;
  switch (item.type) {
    case "message":
      return writeMessage(item, list, context);
    case "reasoning": {
      const blocks = writeReasoning(item, profile.reasoning);
      if (blocks.length === 0 && isWorded(item)) note(lostReasoning(profile));
      return list.add("assistant", blocks);
    }
    case "call":
      reportLost(item, note);
      return list.add("assistant", [writeCall(item)]);
    case "result":
      reportLost(item, note);
      return list.add("user", [writeResult(item, context)]);
    case "opaque":
      if (item.dialect === "messages") return list.add("assistant", [item.raw]);
      return note(`the messages dialect has no such item as \`${String(item.raw.type)}\``);
    default:
      item satisfies never;
  }
}

const lostReasoning = ({ name, reasoning }: Profile): string =>
  reasoning === "signed_thinking"
    ? `the ${name} profile takes back only what its own models have thought and signed`
    : `the ${name} profile does not take reasoning back`;

function writeMessage(item: Message, list: MessageList, context: Writing): void {
  const blocks = writeBlocks(item.parts, context);
  const extra = ownExtra(item.extra, "messages");
  reportLost(item, context.note);
  const { role } = item;
  if (role === "user" || role === "assistant") list.add(role, blocks, extra);
  else list.system(blocks, extra);
}

/** Reports fields beside the content that have no place here. The name of a result is that of its call. */
function reportLost(item: Message | Call<UpstreamName> | Result, note: OnReason): void {
  if (item.type === "message" && item.name !== undefined) note("the messages dialect has no names");
  reportForeign(item.extra, "messages", note);
}

/**
 * Writes the blocks of a message, except blank text, which the API refuses. A text replaces content
 * that is left out, because it may be the whole message.
 */
function writeBlocks(parts: readonly Part[], { own, note, profile }: Writing): Fields[] {
  return parts.flatMap((part): Fields[] => {
    if (part.type === "text" && part.loads !== undefined && profile.tools.deferred)
      return part.loads.map((tool_name) => ({ type: "tool_reference", tool_name }));
    const block = writePart(part, own);
    if (typeof block === "string") {
      note(block, "dropped", ".content");
      return [{ type: "text", text: leftOutText(part) }];
    }
    if (part.type !== "refusal" && part.type !== "opaque")
      reportForeign(part.extra, "messages", (reason) => note(reason, "dropped", ".content"));
    if (part.type === "text" && losesCitations(part)) note(FOREIGN_CITATION, "dropped", ".content");
    return isBlank(block) ? [] : [block];
  });
}

const FOREIGN_CITATION = "the messages dialect takes back only citations that it has made itself";

const isBlank = ({ type, text }: Fields): boolean =>
  type === "text" && typeof text === "string" && text.trim() === "";

function writeCall({ id, name, input, extra }: Call<UpstreamName>): Fields {
  const value = exactJsonOf(input === "" ? "{}" : input);
  return {
    ...ownExtra(extra, "messages"),
    type: "tool_use",
    id,
    name,
    input: isFields(value) ? value : { input },
  };
}

function writeResult(item: Result, context: Writing): Fields {
  const blocks = writeBlocks(item.parts, context);
  const [first, ...more] = blocks;
  const isPlain = more.length === 0 && first !== undefined && isPlainText(first);
  return {
    type: "tool_result",
    tool_use_id: item.call,
    ...(blocks.length > 0 && { content: isPlain ? first.text : blocks }),
    ...(item.isError === true && { is_error: true }),
    ...ownExtra(item.extra, "messages"),
  };
}

const isPlainText = (block: Fields): boolean =>
  block.type === "text" && Object.keys(block).length === 2;

const wordsOf = ({ content, summary }: Reasoning): string =>
  (content.length > 0 ? content : summary).join("\n\n");

/**
 * Past reasoning as blocks; none for an upstream that takes no reasoning. An upstream of the form
 * `signed_thinking` refuses reasoning that its own models have not signed, and `details` do not tell
 * which provider made their signature.
 */
function writeReasoning(item: Reasoning, form: Profile["reasoning"]): readonly Fields[] {
  if (form !== "thinking" && form !== "signed_thinking") return [];
  const { encrypted, extra } = item;
  if (encrypted !== undefined)
    return [
      isRedacted(extra) === true
        ? { type: "redacted_thinking", data: encrypted }
        : { type: "thinking", thinking: wordsOf(item), signature: encrypted },
    ];
  if (form === "signed_thinking") return [];
  const signed = (item.details ?? []).flatMap(fromDetail);
  if (signed.length > 0) return signed;
  const thinking = wordsOf(item);
  return thinking === "" ? [] : [{ type: "thinking", thinking }];
}

/** An entry of `reasoning_details` that a model of this dialect has signed. */
function fromDetail(raw: unknown): readonly Fields[] {
  const detail = fieldsOf(raw);
  if (filledText(detail?.format)?.startsWith(DETAIL_FORMAT) !== true) return [];
  const { type, text, signature, data } = detail ?? {};
  if (type === "reasoning.encrypted" && filledText(data) !== undefined)
    return [{ type: "redacted_thinking", data }];
  return filledText(signature) === undefined
    ? []
    : [{ type: "thinking", thinking: filledText(text) ?? "", signature }];
}

const DETAIL_FORMAT = "anthropic-claude";

/** True if an upstream that does not receive it loses content. */
const isWorded = (item: Reasoning): boolean =>
  item.encrypted !== undefined || item.details !== undefined || wordsOf(item) !== "";

type Role = "user" | "assistant";
type Open = { role: Role | "system"; content: Fields[]; extra: Fields };

const CONTINUE = "Continue.";

/** Messages whose roles take turns, beginning with the user's. */
class MessageList {
  readonly #note: OnReason;
  /** True if the model continues a beginning of its answer. */
  readonly #isPrefillTaken: boolean;
  readonly #messages: Open[] = [];
  /** System messages whose place depends on the role of the next message. */
  #waiting: Open[] = [];

  constructor(note: OnReason, isPrefillTaken: boolean) {
    this.#note = note;
    this.#isPrefillTaken = isPrefillTaken;
  }

  add(role: Role, blocks: readonly Fields[], extra: Fields = {}): void {
    if (blocks.length === 0) return;
    this.#settle(role);
    const last = this.#messages.at(-1);
    if (last?.role === role) {
      append(last.content, blocks);
      last.extra = { ...last.extra, ...extra };
      return;
    }
    if (last === undefined && role === "assistant") {
      this.#note("a conversation must begin with a user message", "repaired");
      this.#open("user", [{ type: "text", text: CONTINUE }]);
    }
    this.#open(role, [...blocks], extra);
  }

  /** Instructions in mid-conversation. */
  system(blocks: readonly Fields[], extra: Fields): void {
    if (blocks.length === 0 && Object.keys(extra).length === 0) return;
    this.#waiting.push({ role: "system", content: [...blocks], extra });
  }

  /** All messages, as they are sent. */
  end(): readonly Fields[] {
    this.#settle(undefined);
    const last = this.#messages.at(-1);
    const isPrefill = last?.role === "assistant" && last.content.every(isWords);
    if (last === undefined || (isPrefill && !this.#isPrefillTaken)) {
      this.#note("the model answers the user, so the user is taken to have asked", "repaired");
      this.#open("user", [{ type: "text", text: CONTINUE }]);
    } else if (isPrefill) trimEnd(last.content);
    return this.#messages.map(({ role, content, extra }) => ({ role, content, ...extra }));
  }

  #open(role: Open["role"], content: Fields[], extra: Fields = {}): void {
    this.#messages.push({ role, content, extra });
  }

  /**
   * A system message may come after a message of the user, before one of the model or at the end; in
   * other places it becomes part of a user message, marked as a reminder.
   */
  #settle(next: Role | undefined): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#messages.at(-1)?.role === "user" && next !== "user") {
      const [first, ...others] = waiting;
      if (first === undefined) return;
      for (const other of others) {
        append(first.content, other.content);
        first.extra = { ...first.extra, ...other.extra };
      }
      this.#messages.push(first);
      return;
    }
    this.#note(
      "the system message becomes part of a user message, marked as a reminder",
      "reshaped",
    );
    for (const { content } of waiting)
      for (const block of content)
        this.add("user", [typeof block.text === "string" ? reminder(block, block.text) : block]);
  }
}

const reminder = (block: Fields, text: string): Fields => ({
  ...block,
  text: `<system-reminder>\n${text}\n</system-reminder>`,
});

const isWords = ({ type }: Fields): boolean =>
  type === "text" || type === "thinking" || type === "redacted_thinking";

/** The beginning of an answer may not end in blanks. */
function trimEnd(content: Fields[]): void {
  const last = content.at(-1);
  if (last?.type === "text" && typeof last.text === "string")
    content[content.length - 1] = { ...last, text: last.text.trimEnd() };
}
