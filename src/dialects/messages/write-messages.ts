import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../json/json.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { itemPath } from "../../turn/path.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Call, Fields, Item, Message, Part, Result, Turn } from "../../turn/turn.ts";
import { exactJsonOf } from "../../json/exact.ts";
import { reportForeign } from "../shared/foreign-fields.ts";
import { leftOutText } from "../shared/left-out.ts";
import { losesCitations, writePart } from "./content-parts.ts";
import { ownExtra } from "./extra.ts";
import { MessageList } from "./message-list.ts";
import { isWorded, writeReasoning } from "./reasoning.ts";

type Note = (action: Decision["action"], reason: string, within?: string) => void;

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
  const decisions: Decision[] = [];
  let at = 0;
  const note: Note = (action, reason, within = "") => {
    const path = itemPath(turn, at) + within;
    const last = decisions.at(-1);
    if (last?.path !== path || last.reason !== reason) decisions.push({ path, action, reason });
  };
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
    at++;
  }
  at = Math.max(0, turn.items.length - 1);
  return { system, messages: list.end(), decisions };
}

type Writing = { readonly own: boolean; readonly profile: Profile; readonly note: Note };

function writeItem(item: Item<UpstreamName>, list: MessageList, context: Writing): void {
  const { profile, note } = context;
  switch (item.type) {
    case "message":
      return writeMessage(item, list, context);
    case "reasoning": {
      const blocks = writeReasoning(item, profile.reasoning);
      if (blocks.length === 0 && isWorded(item)) note("dropped", lostReasoning(profile));
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
      return note(
        "dropped",
        `the messages dialect has no such item as \`${String(item.raw.type)}\``,
      );
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
  const extra = ownExtra(item.extra);
  reportLost(item, context.note);
  const { role } = item;
  if (role === "user" || role === "assistant") list.add(role, blocks, extra);
  else list.system(blocks, extra);
}

/** Reports what there is of an item beside its content, and has no place here. A result's name is its call's too. */
function reportLost(item: Message | Call<UpstreamName> | Result, note: Note): void {
  if (item.type === "message" && item.name !== undefined)
    note("dropped", "the messages dialect has no names");
  reportForeign(item.extra, "messages", (reason) => note("dropped", reason));
}

/**
 * The blocks of a message; text without a word is refused, and says nothing. The
 * model is told where something was left out: its place may be all there was.
 */
function writeBlocks(parts: readonly Part[], { own, note, profile }: Writing): Fields[] {
  return parts.flatMap((part): Fields[] => {
    if (part.type === "text" && part.loads !== undefined && profile.tools.deferred)
      return part.loads.map((tool_name) => ({ type: "tool_reference", tool_name }));
    const block = writePart(part, own);
    if (typeof block === "string") {
      note("dropped", block, ".content");
      return [{ type: "text", text: leftOutText(part) }];
    }
    if (part.type !== "refusal" && part.type !== "opaque")
      reportForeign(part.extra, "messages", (reason) => note("dropped", reason, ".content"));
    if (part.type === "text" && losesCitations(part)) note("dropped", FOREIGN_CITATION, ".content");
    return isBlank(block) ? [] : [block];
  });
}

const FOREIGN_CITATION = "the messages dialect takes back only citations that it has made itself";

const isBlank = ({ type, text }: Fields): boolean =>
  type === "text" && typeof text === "string" && text.trim() === "";

function writeCall({ id, name, input, extra }: Call<UpstreamName>): Fields {
  const value = exactJsonOf(input === "" ? "{}" : input);
  return {
    ...ownExtra(extra),
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
    ...ownExtra(item.extra),
  };
}

const isPlainText = (block: Fields): boolean =>
  block.type === "text" && Object.keys(block).length === 2;
