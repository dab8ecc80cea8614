import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type {
  Call,
  Extra,
  Fields,
  Item,
  Message,
  Part,
  Reasoning,
  Result,
  Turn,
} from "../../turn/turn.ts";
import { itemPath } from "../../turn/path.ts";
import type { Target, Written } from "../dialect.ts";
import { fieldsOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { bodyWith, forwardChanges, withTools } from "../shared/source-text.ts";
import {
  ERROR_IN_TEXT,
  FILE_NAMED,
  fileName,
  leftOutText,
  reportForeign,
  withErrorText,
} from "../shared/content.ts";
import { writeToolChoice, writeTools } from "./tools.ts";
import { ownExtra, writeFormat } from "./request-fields.ts";
import { chatTraits } from "./traits.ts";
import { areSigned, detailsText, mergedPieces } from "./answer-fields.ts";

/** Writes a turn as a Chat Completions request, and reports what the form has no room for. */
export function writeRequest(turn: Turn<UpstreamName>, to: Target): Written {
  return to.straight ? forward(turn, to) : translate(turn, to);
}

/** The client's own request, under the upstream's name for the model. */
function forward({ body, stream }: Turn<UpstreamName>, { profile, model }: Target): Written {
  const changes: Record<string, unknown> = forwardChanges(body, { model, stream, profile });
  const options = fieldsOf(body.stream_options);
  if (stream && profile.streamUsage && options?.include_usage !== true)
    changes.stream_options = { ...options, include_usage: true };
  return { text: bodyWith(body, changes), decisions: [] };
}

function translate(turn: Turn<UpstreamName>, { profile, model }: Target): Written {
  const { messages, decisions } = writeMessages(turn, profile);
  const params = writeParams(turn, { name: "chat", traits: chatTraits }, profile);
  const tools = writeTools(turn.tools);
  const body: Record<string, unknown> = { model, messages, ...params.fields };
  append(decisions, params.decisions);
  append(decisions, tools.decisions);

  if (turn.toolChoice !== undefined) body.tool_choice = writeToolChoice(turn.toolChoice);
  if (tools.text === undefined) append(decisions, dropToolFields(body, turn));
  append(decisions, askForFormat(body, turn));
  // The number of alternatives alone does not switch them on.
  if (body.top_logprobs !== undefined) body.logprobs = true;
  if (body.top_logprobs === 0) delete body.top_logprobs;
  if (turn.stream) append(decisions, writeStream(body, turn, profile));
  append(decisions, writeExtra(turn, "chat", body));
  addFields(body, profile);
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

/** Text is what comes unasked, and not every upstream knows the word for it. */
function askForFormat(
  body: Record<string, unknown>,
  { format, traits }: Turn<UpstreamName>,
): Decision[] {
  if (format === undefined || format.type === "text") return [];
  body.response_format = writeFormat(format);
  if (body.response_format !== undefined) return [];
  const reason = "the chat dialect has no such format";
  return [{ path: traits.format.path, action: "dropped", reason }];
}

/** Fields about tools mean nothing where there are none, and upstreams refuse them. */
function dropToolFields(body: Record<string, unknown>, turn: Turn<UpstreamName>): Decision[] {
  const decisions: Decision[] = [];
  const drop = (key: string, path: string): void => {
    if (body[key] === undefined) return;
    delete body[key];
    decisions.push({ path, action: "repaired", reason: "it means nothing without tools" });
  };
  drop("tool_choice", "tool_choice");
  drop("parallel_tool_calls", paramPath("parallelCalls", turn.traits));
  return decisions;
}

function writeStream(
  body: Record<string, unknown>,
  turn: Turn<UpstreamName>,
  profile: Profile,
): Decision[] {
  body.stream = true;
  if (profile.streamUsage) body.stream_options = { include_usage: true };
  else if (turn.usageWanted && turn.dialect === "chat")
    return [
      {
        path: "stream_options.include_usage",
        action: "dropped",
        reason: `the ${profile.name} profile does not count tokens in streams when asked`,
      },
    ];
  return [];
}

type Form = Profile["reasoning"];

/** What can be read of reasoning; what is sealed can only be by the model that made it. */
function readableText({ content, summary, details }: Reasoning): string {
  const words = content.length > 0 ? content : summary;
  return words.join("\n\n") || detailsText(details ?? []);
}

/** Whether an upstream that wants reasoning back in this form can be given it. */
function isWritable(item: Reasoning, form: Form): boolean {
  switch (form) {
    case "none":
    case "items":
    case "thinking":
    case "signed_thinking":
      return false;
    case "reasoning_details":
      return item.details !== undefined || readableText(item) !== "";
    case "reasoning":
    case "reasoning_content":
      return hasText(item) || (areSigned(item.details) && keepsDetails(form));
    default:
      return form satisfies never;
  }
}

/** Empty reasoning counts where it was sent as such: some upstreams want the field. */
const hasText = (item: Reasoning): boolean => item.content.length > 0 || readableText(item) !== "";

/** Whether an upstream that takes reasoning in this form is given what signs it, too. */
const keepsDetails = (form: Form): boolean =>
  form === "reasoning_details" || form === "reasoning_content";

/** The field of an assistant message for what was thought before it. */
function writeReasoning(items: readonly Reasoning[], form: Form): Fields {
  if (items.length === 0) return {};
  if (form !== "reasoning_details") {
    const texts = items.filter(hasText).map(readableText);
    const text = texts.length === 0 ? {} : { [form]: joined(texts) };
    const signed = items.flatMap((item) => item.details ?? []);
    return areSigned(signed) && keepsDetails(form) ? { ...text, reasoning_details: signed } : text;
  }
  const details = items.flatMap(
    (item) => item.details ?? [{ type: "reasoning.text", text: readableText(item) }],
  );
  return { reasoning_details: details };
}

/** What was thought at several places; nothing, if it was nothing everywhere. */
const joined = (texts: readonly string[]): string =>
  texts.filter((text) => text.trim() !== "").join("\n\n") || (texts[0] ?? "");

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
function writeMessages(
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
  message.extra = { ...message.extra, ...ownFields(item.extra, note) };
}

function addCall(message: AssistantMessage, item: Call<UpstreamName>, note: Note): void {
  append(message.reasoning, message.followingReasoning);
  message.followingReasoning = [];
  const { id, kind, name, input } = item;
  const extra = ownFields(item.extra, note);
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
    ...ownFields(item.extra, note),
    role: item.role,
    content: writeContent(item.parts, asParts, note),
    ...(item.name === undefined ? {} : { name: item.name }),
  };
}

/**
 * Notes what became of the item at hand, or of the field `within` it. Never of
 * one part by its number: mending may have moved it.
 */
type Note = (action: Decision["action"], reason: string, within?: string) => void;

const isPlain = (part: Part): boolean =>
  part.type === "text" && Object.keys(ownExtra(part.extra)).length === 0;

const plainText = (part: Part): string => (part.type === "text" ? part.text : "");

/**
 * The content of a message. Text is one string, which every upstream takes;
 * `asParts`: the client itself chose parts, in this dialect.
 */
function writeContent(parts: readonly Part[], asParts: boolean, note: Note): string | Fields[] {
  const shown = shownParts(parts, note, ".content");
  if (shown.every(isPlain) && (shown.length < 2 || !asParts))
    return shown.map(plainText).join("\n\n");
  return writeParts(shown, note, ".content");
}

const writeParts = (parts: readonly Part[], note: Note, field: string): Fields[] =>
  parts.flatMap((part) => {
    const written = writePart(part);
    if (typeof written === "string") return [];
    if (part.type === "file" && fileName(part) !== part.name) note("repaired", FILE_NAMED, field);
    return [written];
  });

/** The parts that chat has a form for, and words in place of the others; `field` is where they stand. */
function shownParts(parts: readonly Part[], note: Note, field: string): Part[] {
  return parts.map((part) => {
    if (part.type === "text" && (part.annotations?.length ?? 0) > 0)
      note("dropped", "chat takes no annotations back", field);
    if (part.type === "text" && part.extra === undefined) return part;
    if (part.type !== "refusal" && part.type !== "opaque")
      reportForeign(part.extra, "chat", (reason) => note("dropped", reason, field));
    const written = writePart(part);
    if (typeof written !== "string") return part;
    note("dropped", written, field);
    return { type: "text", text: leftOutText(part) };
  });
}

/** Unknown fields of the client are sent to upstreams of its dialect only. */
function ownFields(extra: Extra | undefined, note: Note): Fields {
  if (extra === undefined || extra.dialect === "chat") return extra?.fields ?? {};
  for (const [key, value] of Object.entries(extra.fields))
    if (value !== null) note("dropped", "chat has no such field", `.${key}`);
  return {};
}

/** `field` is where the client has what the result holds. */
function writeResult(item: Result, field: string, note: Note): Fields {
  const parts = shownParts(item.parts, note, field);
  return {
    ...ownFields(item.extra, note),
    role: "tool",
    tool_call_id: item.call,
    ...(item.name === undefined ? {} : { name: item.name }),
    content: parts.every(isPlain)
      ? parts.map(plainText).join("\n")
      : writeParts(parts, note, field),
  };
}

/** A part in chat's words, or why chat has none. */
function writePart(part: Part): Fields | string {
  switch (part.type) {
    case "text":
      return { ...ownExtra(part.extra), type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, detail } = part;
      if (url === undefined) return "chat has no images by file id";
      return merged(part, "image_url", { url, detail });
    }
    case "audio": {
      const { data, format } = part;
      return merged(part, "input_audio", { data, format });
    }
    case "file": {
      const { data, fileId } = part;
      if (data === undefined && fileId === undefined) return "chat has no files by URL";
      return merged(part, "file", { file_data: data, file_id: fileId, filename: fileName(part) });
    }
    case "opaque":
      return part.dialect === "chat"
        ? (part.raw as Fields)
        : `chat has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

function merged(
  part: Exclude<Part, { type: "refusal" | "opaque" }>,
  type: string,
  fields: Fields,
): Fields {
  const own = ownExtra(part.extra);
  return { ...own, type, [type]: { ...fieldsOf(own[type]), ...fields } };
}
