import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Call, Fields, Item, Message, Part, Reasoning, Turn } from "../../turn/turn.ts";
import { itemPath } from "../../turn/path.ts";
import { ERROR_IN_TEXT, withErrorText } from "../shared/failed-result.ts";
import { fieldsOf } from "../shared/loose.ts";
import { shownParts, writeContent, writeExtra, writeResult, type Note } from "./content.ts";
import { areSigned, mergedPieces } from "./details.ts";
import { isWritable, keepsDetails, readableText, writeReasoning } from "./reasoning.ts";
import { ownExtra } from "./schema.ts";

/** What an assistant says and calls before anybody else speaks; chat wants it in one message. */
type AssistantMessage = {
  readonly reasoning: Reasoning[];
  /** Reasoning behind the text: of this message if calls follow, else of the next. */
  followingReasoning: Reasoning[];
  readonly parts: Part[];
  readonly calls: Fields[];
  name: string | undefined;
  extra: Fields;
};

/** Writes the conversation as chat upstreams want it: calls in one message, results right behind. */
export function writeMessages(
  turn: Turn<UpstreamName>,
  profile: Profile,
): { messages: Fields[]; decisions: Decision[] } {
  const messages: Fields[] = [];
  const decisions: Decision[] = [];
  const asParts = turn.dialect === "chat";
  let message: AssistantMessage | undefined;
  let at = 0;

  const note: Note = (action, reason, within = "") => {
    const path = itemPath(turn, at) + within;
    const last = decisions.at(-1);
    if (last?.path !== path || last.reason !== reason) decisions.push({ path, action, reason });
  };
  const open = (): AssistantMessage => (message ??= newAssistantMessage());
  const close = (): void => {
    if (message !== undefined) messages.push(writeAssistantMessage(message, profile, asParts));
    message = undefined;
  };
  const push = (message: Fields): void => {
    close();
    messages.push(message);
  };
  const write = (item: Item<UpstreamName>): void => {
    switch (item.type) {
      case "reasoning":
        if (isTakenBack(item, profile, note)) addReasoning(open(), item);
        return;
      case "call":
        return addCall(open(), item, note);
      case "message": {
        if (item.role !== "assistant") return push(writeMessage(item, asParts, note));
        const following = takeFollowingReasoning(message);
        if (following !== undefined) {
          close();
          append(open().reasoning, following);
        }
        return addText(open(), item, note);
      }
      case "result": {
        const told = withErrorText(item, () => note("reshaped", ERROR_IN_TEXT));
        return push(writeResult(told, asParts ? ".content" : ".output", note));
      }
      case "opaque":
        if (item.dialect === "chat") return push(item.raw);
        return note("dropped", `chat has no such item as \`${String(item.raw.type)}\``);
      default:
        item satisfies never;
    }
  };

  for (const item of turn.items) {
    write(item);
    at++;
  }
  close();
  return { messages, decisions };
}

const newAssistantMessage = (): AssistantMessage => ({
  reasoning: [],
  followingReasoning: [],
  parts: [],
  calls: [],
  name: undefined,
  extra: {},
});

/** Whether the upstream is given anything of past reasoning; what it is not given is reported. */
function isTakenBack(item: Reasoning, profile: Profile, note: Note): boolean {
  const isKept = isWritable(item, profile.reasoning);
  if (!isKept && (readableText(item) !== "" || areSigned(item.details)))
    note("dropped", `the ${profile.name} profile does not take reasoning back`);
  else if (areSigned(item.details) && !keepsDetails(profile.reasoning))
    note("dropped", `the ${profile.name} profile does not take \`reasoning_details\` back`);
  return isKept || isSigned(item);
}

/** Whether fields of this dialect came with it, which its upstream gets back unchanged. */
const isSigned = ({ extra }: Reasoning): boolean => Object.keys(ownExtra(extra)).length > 0;

function addReasoning(message: AssistantMessage, item: Reasoning): void {
  if (message.parts.length > 0 && message.calls.length === 0) message.followingReasoning.push(item);
  else message.reasoning.push(item);
}

/** Where another text makes a message of its own: the reasoning that belongs to it. */
function takeFollowingReasoning(message: AssistantMessage | undefined): Reasoning[] | undefined {
  if (message === undefined || message.parts.length === 0 || message.calls.length > 0)
    return undefined;
  const { followingReasoning } = message;
  message.followingReasoning = [];
  return followingReasoning;
}

function addText(message: AssistantMessage, item: Message, note: Note): void {
  if (message.calls.length > 0 && item.parts.length > 0)
    note("repaired", "it stands between calls and their results; in chat it comes with the calls");
  for (const part of item.parts) {
    const isWord = part.type === "text" || part.type === "refusal";
    if (isWord || (part.type === "opaque" && part.dialect === "chat")) {
      // Now, while its item is the one at hand: the message is written when another begins.
      append(message.parts, shownParts([part], note, ".content"));
    } else note("dropped", "in chat an assistant says words only", ".content");
  }
  message.name ??= item.name;
  message.extra = { ...message.extra, ...writeExtra(item.extra, note) };
}

function addCall(message: AssistantMessage, item: Call<UpstreamName>, note: Note): void {
  append(message.reasoning, message.followingReasoning);
  message.followingReasoning = [];
  const { id, kind, name, input } = item;
  const extra = writeExtra(item.extra, note);
  const type = kind === "custom" ? "custom" : "function";
  const body = kind === "custom" ? { name, input } : { name, arguments: input };
  message.calls.push({ ...extra, id, type, [type]: { ...fieldsOf(extra[type]), ...body } });
}

function writeAssistantMessage(
  message: AssistantMessage,
  profile: Profile,
  asParts: boolean,
): Fields {
  const { parts, calls, name, extra } = message;
  const texts = parts.filter((part) => part.type !== "refusal");
  const refusals = parts.flatMap((part) => (part.type === "refusal" ? part.text : []));
  const isSilent = texts.length === 0 && (calls.length > 0 || refusals.length > 0);
  const reasoning = [...message.reasoning, ...message.followingReasoning];
  const kept = reasoning.filter((item) => isWritable(item, profile.reasoning));
  return {
    ...reasoning.map((item) => ownExtra(item.extra)).reduce(mergedPieces, {}),
    ...extra,
    role: "assistant",
    content: isSilent ? null : writeContent(texts, asParts, () => {}),
    ...(refusals.length === 0 ? {} : { refusal: refusals.join("") }),
    ...(name === undefined ? {} : { name }),
    ...writeReasoning(kept, profile.reasoning),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function writeMessage(item: Message, asParts: boolean, note: Note): Fields {
  return {
    ...writeExtra(item.extra, note),
    role: item.role,
    content: writeContent(item.parts, asParts, note),
    ...(item.name === undefined ? {} : { name: item.name }),
  };
}
