import { append } from "../../turn/append.ts";
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
  Role,
  Turn,
} from "../../turn/turn.ts";
import type { Target, WrittenRequest } from "../dialect.ts";
import {
  ERROR_IN_TEXT,
  itemNotes,
  type ItemNotes,
  ownExtra,
  withErrorText,
} from "../shared/content.ts";
import { fieldsOf } from "../shared/loose.ts";
import { writeFormat, writeParts } from "../shared/openai-content.ts";
import { chatForm } from "../shared/openai-form.ts";
import { toolsWriter, writeToolChoice } from "../shared/openai-tools.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { forwardedText, withTools } from "../shared/source-text.ts";
import { chatTraits } from "./traits.ts";
import { areSigned, detailsText, mergedPieces } from "./answer-fields.ts";

const writeTools = toolsWriter(chatForm);

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
  const {
    messages,
    notes: { decisions },
  } = new ConversationWriter(turn, profile);
  const params = writeParams(turn, { name: "chat", traits: chatTraits }, profile);
  const tools = writeTools(turn.tools);
  const body: Record<string, unknown> = { model, messages, ...params.fields };
  append(decisions, params.decisions);
  append(decisions, tools.decisions);

  if (turn.toolChoice !== undefined) body.tool_choice = writeToolChoice(turn.toolChoice, chatForm);
  if (tools.text === undefined) {
    // Upstreams refuse fields about tools in a request without tools.
    const parallel = paramPath("parallelCalls", turn.traits);
    for (const [key, path] of [
      ["tool_choice", turn.traits.toolChoice],
      ["parallel_tool_calls", parallel],
    ] as const) {
      if (body[key] === undefined) continue;
      delete body[key];
      const reason = "it means nothing without tools";
      decisions.push({ path: path ?? key, action: "repaired", reason });
    }
  }
  // Text is the default, and not every upstream knows the word for it.
  if (turn.format !== undefined && turn.format.type !== "text") {
    body.response_format = writeFormat(turn.format, chatForm);
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
  readonly notes: ItemNotes;
  readonly #profile: Profile;
  /** True if the client itself chose parts, in this dialect. Others are written as one string if possible. */
  readonly #keepsParts: boolean;
  #assistant: AssistantMessage | undefined;

  constructor(turn: Turn<UpstreamName>, profile: Profile) {
    this.notes = itemNotes(turn);
    this.#profile = profile;
    this.#keepsParts = turn.dialect === "chat";
    for (const item of turn.items) {
      this.#write(item);
      this.notes.at++;
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
          content: this.#contentOf(item.parts, item.role),
          ...(item.name === undefined ? {} : { name: item.name }),
        });
      case "result":
        return this.#writeResult(
          withErrorText(item, () => this.notes.add(ERROR_IN_TEXT, "reshaped")),
        );
      case "opaque":
        if (item.dialect === "chat") return this.#push(item.raw);
        return this.notes.add(`chat has no such item as \`${String(item.raw.type)}\``);
      default:
        item satisfies never;
    }
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
      ...reasoning.map((item) => ownExtra(item.extra, "chat")).reduce(mergedPieces, {}),
      ...extra,
      role: "assistant",
      content: isSilent ? null : this.#joined(texts),
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
      this.notes.add(`the ${name} profile does not take reasoning back`);
    else if (areSigned(item.details) && !takesDetails(form))
      this.notes.add(`the ${name} profile does not take \`reasoning_details\` back`);
    // Fields of this dialect that came with it go back to its upstream unchanged.
    if (!isKept && Object.keys(ownExtra(item.extra, "chat")).length === 0) return;
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
      this.notes.add(
        "chat allows no message between calls and their results; the message is sent with the calls",
        "repaired",
      );
    for (const part of item.parts) {
      const isWord = part.type === "text" || part.type === "refusal";
      if (isWord || (part.type === "opaque" && part.dialect === "chat"))
        append(message.parts, this.#writeParts([part], "assistant", ".content"));
      else
        this.notes.add(
          "in chat, a message of an assistant can only contain text",
          "dropped",
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
    const field = this.#keepsParts ? ".content" : ".output";
    this.#push({
      ...this.#ownFields(item.extra),
      role: "tool",
      tool_call_id: item.call,
      ...(item.name === undefined ? {} : { name: item.name }),
      content:
        plainText(item.parts, "\n") ?? joined(this.#writeParts(item.parts, "user", field), "\n"),
    });
  }

  /** Every upstream takes a string, so parts are only written where a string cannot say the same. */
  #contentOf(parts: readonly Part[], role: Role): string | readonly Fields[] {
    const text = parts.length < 2 || !this.#keepsParts ? plainText(parts, PARAGRAPH) : undefined;
    return text ?? this.#joined(this.#writeParts(parts, role, ".content"));
  }

  #joined(parts: readonly Fields[]): string | readonly Fields[] {
    return parts.length < 2 || !this.#keepsParts ? joined(parts, PARAGRAPH) : parts;
  }

  /** `field`: the field that holds the parts. */
  #writeParts(parts: readonly Part[], role: Role, field: string): Fields[] {
    return writeParts(parts, role, chatForm, (reason, action) =>
      this.notes.add(reason, action, field),
    );
  }

  /** Unknown fields of the client are sent to upstreams of its dialect only. */
  #ownFields(extra: Extra | undefined): Fields {
    if (extra === undefined || extra.dialect === "chat") return extra?.fields ?? {};
    for (const [key, value] of Object.entries(extra.fields))
      if (value !== null) this.notes.add("chat has no such field", "dropped", `.${key}`);
    return {};
  }
}

const PARAGRAPH = "\n\n";

/** The text of parts that are nothing but text; undefined if there are others. */
function plainText(parts: readonly Part[], separator: string): string | undefined {
  let text = "";
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (part?.type !== "text" || part.extra !== undefined || part.annotations !== undefined)
      return undefined;
    text += at === 0 ? part.text : separator + part.text;
  }
  return text;
}

/** The same of written parts; the parts themselves if there are others. */
const joined = (parts: readonly Fields[], separator: string): string | readonly Fields[] =>
  parts.every((part) => part.type === "text" && Object.keys(part).length === 2)
    ? parts.map(({ text }) => text).join(separator)
    : parts;
