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
import type { Target, WrittenRequest } from "../dialect.ts";
import { fieldsOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { forwardedText, withTools } from "../shared/source-text.ts";
import {
  ERROR_IN_TEXT,
  FILE_NAMED,
  fileName,
  leftOutText,
  reportForeign,
  withErrorText,
} from "../shared/content.ts";
import { writeToolChoice, writeTools } from "./tools.ts";
import { ownChatExtra, writeFormat } from "./request-fields.ts";
import { chatTraits } from "./traits.ts";
import { areSigned, detailsText, mergedPieces } from "./answer-fields.ts";

/** Writes a turn as a Chat Completions request, and reports what the form has no room for. */
export function writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  return to.straight ? forward(turn, to) : translate(turn, to);
}

/** The client's own request, under the upstream's name for the model. */
function forward(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  const options = fieldsOf(turn.body.stream_options);
  const wantsUsage = turn.stream && to.profile.streamUsage && options?.include_usage !== true;
  const more = wantsUsage ? { stream_options: { ...options, include_usage: true } } : undefined;
  return { text: forwardedText(turn, to, more), decisions: [] };
}

function translate(turn: Turn<UpstreamName>, { profile, model }: Target): WrittenRequest {
  const { messages, decisions } = new ConversationWriter(turn, profile);
  const params = writeParams(turn, { name: "chat", traits: chatTraits }, profile);
  const tools = writeTools(turn.tools);
  const body: Record<string, unknown> = { model, messages, ...params.fields };
  append(decisions, params.decisions);
  append(decisions, tools.decisions);

  if (turn.toolChoice !== undefined) body.tool_choice = writeToolChoice(turn.toolChoice);
  if (tools.text === undefined) {
    // Upstreams refuse fields about tools in a request without tools.
    const parallel = paramPath("parallelCalls", turn.traits);
    for (const [key, path] of [["tool_choice"], ["parallel_tool_calls", parallel]] as const) {
      if (body[key] === undefined) continue;
      delete body[key];
      const reason = "it means nothing without tools";
      decisions.push({ path: path ?? key, action: "repaired", reason });
    }
  }
  // Text is the default, and not every upstream knows the word for it.
  if (turn.format !== undefined && turn.format.type !== "text") {
    body.response_format = writeFormat(turn.format);
    const reason = "the chat dialect has no such format";
    if (body.response_format === undefined)
      decisions.push({ path: turn.traits.format.path, action: "dropped", reason });
  }
  // The number of alternatives alone does not switch them on.
  if (body.top_logprobs !== undefined) body.logprobs = true;
  if (body.top_logprobs === 0) delete body.top_logprobs;
  if (turn.stream) {
    body.stream = true;
    if (profile.streamUsage) body.stream_options = { include_usage: true };
    else if (turn.usageWanted && turn.dialect === "chat") {
      const reason = `the ${profile.name} profile does not count tokens in streams when asked`;
      decisions.push({ path: "stream_options.include_usage", action: "dropped", reason });
    }
  }
  append(decisions, writeExtra(turn, "chat", body));
  addFields(body, profile);
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

type Form = Profile["reasoning"];

/** The readable text of reasoning. A sealed part is readable only to the model that made it. */
function readableText({ content, summary, details }: Reasoning): string {
  const texts = content.length > 0 ? content : summary;
  return texts.join("\n\n") || detailsText(details ?? []);
}

/** Keeps empty reasoning that the client sent in the field, because some upstreams require the field. */
const hasText = (item: Reasoning): boolean => item.content.length > 0 || readableText(item) !== "";

/** True if an upstream that takes reasoning in this form also takes its signatures. */
const takesDetails = (form: Form): boolean =>
  form === "reasoning_details" || form === "reasoning_content";

/** True if reasoning can be written in the form that an upstream takes it in. */
const isWritable = (item: Reasoning, form: Form): boolean =>
  form === "reasoning_details"
    ? item.details !== undefined || readableText(item) !== ""
    : (form === "reasoning" || form === "reasoning_content") &&
      (hasText(item) || (areSigned(item.details) && takesDetails(form)));

/** The fields of an assistant message for the reasoning before it. */
function writeReasoning(items: readonly Reasoning[], form: Form): Fields {
  if (items.length === 0) return {};
  if (form === "reasoning_details") {
    const details = items.flatMap(
      (item) => item.details ?? [{ type: "reasoning.text", text: readableText(item) }],
    );
    return { reasoning_details: details };
  }
  const texts = items.filter(hasText).map(readableText);
  // Reasoning of several places is joined; if all of it is blank, the first is as good as any.
  const text = texts.filter((one) => one.trim() !== "").join("\n\n") || texts[0];
  const signed = items.flatMap((item) => item.details ?? []);
  return {
    ...(text !== undefined && { [form]: text }),
    ...(areSigned(signed) && takesDetails(form) && { reasoning_details: signed }),
  };
}

/** The reasoning, text and calls of an assistant before the next other role: chat has one message for them. */
type AssistantMessage = {
  reasoning: Reasoning[];
  /** Reasoning after the text: of this message if calls follow, else of the next. */
  followingReasoning: Reasoning[];
  readonly parts: Fields[];
  readonly calls: Fields[];
  name: string | undefined;
  extra: Fields;
};

/** Writes the conversation as chat upstreams want it: calls in one message, results directly after it. */
class ConversationWriter {
  readonly messages: Fields[] = [];
  readonly decisions: Decision[] = [];
  readonly #turn: Turn<UpstreamName>;
  readonly #profile: Profile;
  /** True if the client itself chose parts, in this dialect. Others are written as one string if possible. */
  readonly #keepsParts: boolean;
  #at = 0;
  #assistant: AssistantMessage | undefined;

  constructor(turn: Turn<UpstreamName>, profile: Profile) {
    this.#turn = turn;
    this.#profile = profile;
    this.#keepsParts = turn.dialect === "chat";
    for (const item of turn.items) {
      this.#write(item);
      this.#at++;
    }
    this.#close();
  }

  #write(item: Item<UpstreamName>): void {
    switch (item.type) {
      case "reasoning":
        return this.#addReasoning(item);
      case "call":
        return this.#addCall(item);
      case "message":
        if (item.role === "assistant") return this.#addText(item);
        return this.#push({
          ...this.#ownFields(item.extra),
          role: item.role,
          content: this.#contentOf(this.#writeParts(item.parts, ".content")),
          ...(item.name === undefined ? {} : { name: item.name }),
        });
      case "result":
        return this.#writeResult(withErrorText(item, () => this.#note("reshaped", ERROR_IN_TEXT)));
      case "opaque":
        if (item.dialect === "chat") return this.#push(item.raw);
        return this.#note("dropped", `chat has no such item as \`${String(item.raw.type)}\``);
      default:
        item satisfies never;
    }
  }

  /**
   * Notes a change of the current item, or of the field `within` it. The path never numbers a part:
   * repairs of the history may have moved it.
   */
  #note(action: Decision["action"], reason: string, within = ""): void {
    const path = itemPath(this.#turn, this.#at) + within;
    const last = this.decisions.at(-1);
    if (last?.path !== path || last.reason !== reason)
      this.decisions.push({ path, action, reason });
  }

  #push(message: Fields): void {
    this.#close();
    this.messages.push(message);
  }

  #openMessage(): AssistantMessage {
    return (this.#assistant ??= {
      reasoning: [],
      followingReasoning: [],
      parts: [],
      calls: [],
      name: undefined,
      extra: {},
    });
  }

  #close(): void {
    if (this.#assistant === undefined) return;
    const { reasoning: before, followingReasoning, parts, calls, name, extra } = this.#assistant;
    this.#assistant = undefined;
    const texts = parts.filter((part) => part.type !== "refusal");
    const refusals = parts.flatMap((part) => (part.type === "refusal" ? part.refusal : []));
    const isSilent = texts.length === 0 && (calls.length > 0 || refusals.length > 0);
    const reasoning = [...before, ...followingReasoning];
    const form = this.#profile.reasoning;
    this.messages.push({
      ...reasoning.map((item) => ownChatExtra(item.extra)).reduce(mergedPieces, {}),
      ...extra,
      role: "assistant",
      content: isSilent ? null : this.#contentOf(texts),
      ...(refusals.length === 0 ? {} : { refusal: refusals.join("") }),
      ...(name === undefined ? {} : { name }),
      ...writeReasoning(
        reasoning.filter((item) => isWritable(item, form)),
        form,
      ),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }

  #addReasoning(item: Reasoning): void {
    const { name, reasoning: form } = this.#profile;
    const isKept = isWritable(item, form);
    if (!isKept && (readableText(item) !== "" || areSigned(item.details)))
      this.#note("dropped", `the ${name} profile does not take reasoning back`);
    else if (areSigned(item.details) && !takesDetails(form))
      this.#note("dropped", `the ${name} profile does not take \`reasoning_details\` back`);
    // Fields of this dialect that came with it go back to its upstream unchanged.
    if (!isKept && Object.keys(ownChatExtra(item.extra)).length === 0) return;
    const message = this.#openMessage();
    const isAfterText = message.parts.length > 0 && message.calls.length === 0;
    (isAfterText ? message.followingReasoning : message.reasoning).push(item);
  }

  #addText(item: Message): void {
    const before = this.#assistant;
    if (before !== undefined && before.parts.length > 0 && before.calls.length === 0) {
      // Another text begins a new message, with the reasoning between them.
      const { followingReasoning } = before;
      before.followingReasoning = [];
      this.#close();
      this.#openMessage().reasoning = followingReasoning;
    }
    const message = this.#openMessage();
    if (message.calls.length > 0 && item.parts.length > 0)
      this.#note(
        "repaired",
        "chat allows no message between calls and their results; the message is sent with the calls",
      );
    for (const part of item.parts) {
      const isWord = part.type === "text" || part.type === "refusal";
      if (isWord || (part.type === "opaque" && part.dialect === "chat"))
        append(message.parts, this.#writeParts([part], ".content"));
      else
        this.#note(
          "dropped",
          "in chat, a message of an assistant can only contain text",
          ".content",
        );
    }
    message.name ??= item.name;
    message.extra = { ...message.extra, ...this.#ownFields(item.extra) };
  }

  #addCall(item: Call<UpstreamName>): void {
    const message = this.#openMessage();
    append(message.reasoning, message.followingReasoning);
    message.followingReasoning = [];
    const { id, kind, name, input } = item;
    const extra = this.#ownFields(item.extra);
    const type = kind === "custom" ? "custom" : "function";
    const body = kind === "custom" ? { name, input } : { name, arguments: input };
    message.calls.push({ ...extra, id, type, [type]: { ...fieldsOf(extra[type]), ...body } });
  }

  #writeResult(item: Result): void {
    const parts = this.#writeParts(item.parts, this.#keepsParts ? ".content" : ".output");
    this.#push({
      ...this.#ownFields(item.extra),
      role: "tool",
      tool_call_id: item.call,
      ...(item.name === undefined ? {} : { name: item.name }),
      content: parts.every(isPlainText) ? parts.map(({ text }) => text).join("\n") : parts,
    });
  }

  #contentOf(parts: readonly Fields[]): string | readonly Fields[] {
    // Every upstream takes a string.
    return parts.every(isPlainText) && (parts.length < 2 || !this.#keepsParts)
      ? parts.map(({ text }) => text).join("\n\n")
      : parts;
  }

  /** Writes parts, and a text in place of each that chat has no form for. `field`: the field that holds them. */
  #writeParts(parts: readonly Part[], field: string): Fields[] {
    return parts.map((part) => {
      if (part.type === "text" && (part.annotations?.length ?? 0) > 0)
        this.#note("dropped", "a chat request has no field for annotations", field);
      if (part.type === "text" && part.extra === undefined)
        return { type: "text", text: part.text };
      if (part.type !== "refusal" && part.type !== "opaque")
        reportForeign(part.extra, "chat", (reason) => this.#note("dropped", reason, field));
      const written = writePart(part);
      if (typeof written !== "string") {
        if (part.type === "file" && fileName(part) !== part.name)
          this.#note("repaired", FILE_NAMED, field);
        return written;
      }
      this.#note("dropped", written, field);
      return { type: "text", text: leftOutText(part) };
    });
  }

  /** Unknown fields of the client are sent to upstreams of its dialect only. */
  #ownFields(extra: Extra | undefined): Fields {
    if (extra === undefined || extra.dialect === "chat") return extra?.fields ?? {};
    for (const [key, value] of Object.entries(extra.fields))
      if (value !== null) this.#note("dropped", "chat has no such field", `.${key}`);
    return {};
  }
}

/** True if a written part holds a text and nothing else. */
const isPlainText = (part: Fields): boolean =>
  part.type === "text" && Object.keys(part).length === 2;

/** A part as chat writes it, or the reason why chat cannot. */
function writePart(part: Part): Fields | string {
  switch (part.type) {
    case "text":
      return { ...ownChatExtra(part.extra), type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", refusal: part.text };
    case "image": {
      const { url, detail } = part;
      if (url === undefined) return "chat has no images by file id";
      return nested(part, "image_url", { url, detail });
    }
    case "audio": {
      const { data, format } = part;
      return nested(part, "input_audio", { data, format });
    }
    case "file": {
      const { data, fileId } = part;
      if (data === undefined && fileId === undefined) return "chat has no files by URL";
      return nested(part, "file", { file_data: data, file_id: fileId, filename: fileName(part) });
    }
    case "opaque":
      return part.dialect === "chat"
        ? (part.raw as Fields)
        : `chat has no such part as one of the ${part.dialect} dialect`;
    default:
      return part satisfies never;
  }
}

function nested(
  part: Exclude<Part, { type: "refusal" | "opaque" }>,
  type: string,
  fields: Fields,
): Fields {
  const own = ownChatExtra(part.extra);
  return { ...own, type, [type]: { ...fieldsOf(own[type]), ...fields } };
}
