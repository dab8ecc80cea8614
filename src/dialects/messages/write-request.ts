import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type {
  Call,
  Fields,
  Item,
  Message,
  Params,
  Part,
  Reasoning,
  Result,
  Turn,
} from "../../turn/turn.ts";
import type { Target, WrittenRequest } from "../dialect.ts";
import { fieldsOf, filledText, listOf, numberOf } from "../shared/loose.ts";
import { addFields, paramPath, writeExtra, writeParams } from "../shared/params.ts";
import { forwardedText, withTools } from "../shared/source-text.ts";
import { writeChoice, writeTools } from "./tools.ts";
import { type Thinking, writeFormat, writeThinking, writeTier } from "./thinking.ts";
import { messagesTraits } from "./traits.ts";
import { isBySystem } from "../../turn/item.ts";
import { isFields } from "../../json/json.ts";
import { exactJsonOf } from "../../json/exact.ts";
import {
  itemNotes,
  leftOutText,
  type OnReason,
  ownExtra,
  reportForeign,
} from "../shared/content.ts";
import { losesCitations, writePart } from "./content-parts.ts";
import { isRedacted } from "./extra.ts";

/** The limit if neither client nor profile has one. */
const MAX_TOKENS = 16_384;
/** The API refuses a higher limit without streaming, because the connection would be silent too long. */
const MOST_UNSTREAMED = 21_333;

type Body = Record<string, unknown>;

export function writeRequest(turn: Turn<UpstreamName>, to: Target): WrittenRequest {
  const { headers } = turn;
  const { text, decisions } = to.straight
    ? { text: forwardedText(turn, to), decisions: [] }
    : translate(turn, to);
  // The version and the betas of a client of this dialect belong to its request.
  return { text, decisions, ...(turn.dialect === "messages" && headers && { headers }) };
}

function translate(turn: Turn<UpstreamName>, { profile, model }: Target): WrittenRequest {
  const limits: Decision[] = [];
  const maxTokens = limitFor(turn, profile, limits);
  const asked = writeThinking({ turn, profile, maxTokens });
  const isPrefillTaken = takesPrefill(turn, profile, asked.thinking);
  const { system, messages, decisions } = writeMessages(turn, profile, isPrefillTaken);
  append(decisions, limits);
  const { parallelCalls, effort: _e, thinking: _t, thinkingBudget: _b, ...others } = turn.params;
  const { reasoningSummary: _s, maxTokens: _m, serviceTier, ...params } = others;
  const written = writeParams(
    {
      ...turn,
      params: withUser(withTier(params, serviceTier, turn, decisions), turn, profile, decisions),
    },
    { name: "messages", traits: messagesTraits },
    profile,
  );
  append(decisions, written.decisions);
  const body: Body = { model, max_tokens: maxTokens, messages, ...written.fields };
  if (system.length > 0) body.system = system;
  if (turn.stream || maxTokens > MOST_UNSTREAMED) body.stream = true;
  append(decisions, askToThink(body, turn, profile, asked));
  append(decisions, fitSampling(body, turn, profile));
  append(decisions, askForFormat(body, turn));
  const tools = writeTools(turn.tools);
  for (const reason of tools.reasons) decisions.push({ path: "tools", action: "dropped", reason });
  if (tools.text !== undefined) append(decisions, choose(body, turn, parallelCalls));
  append(decisions, writeExtra(turn, "messages", body));
  addFields(body, profile);
  // Clients of other dialects expect prefixes to be cached without a mark.
  if (profile.cacheMark !== undefined && turn.dialect !== "messages")
    body.cache_control ??= profile.cacheMark;
  // The path replaces fields, and a hosting service may not know some.
  for (const key of profile.route?.without ?? []) delete body[key];
  const text = tools.text === undefined ? JSON.stringify(body) : withTools(body, tools.text);
  return { text, decisions };
}

/** Leaves out a tier that the API does not have, with a decision, because price and speed differ. */
function withTier(
  params: Params,
  tier: string | undefined,
  { traits }: Turn<UpstreamName>,
  decisions: Decision[],
): Params {
  if (tier === undefined) return params;
  const word = writeTier(tier);
  if (word !== undefined) return { ...params, serviceTier: word };
  const reason = `the messages dialect has no tier \`${tier}\``;
  decisions.push({ path: paramPath("serviceTier", traits), action: "dropped", reason });
  return params;
}

/** A model that thinks, or is held to a format, begins its answer itself. */
const takesPrefill = (
  { format }: Turn<UpstreamName>,
  { history }: Profile,
  thinking: Fields | undefined,
): boolean =>
  history?.prefill !== false &&
  (format === undefined || format.type === "text") &&
  (thinking === undefined || thinking.type === "disabled");

/** The user, truncated to the length that the upstream takes. */
function withUser(
  params: Params,
  { traits }: Turn<UpstreamName>,
  { maxUser = Infinity }: Profile,
  decisions: Decision[],
): Params {
  const { user } = params;
  if (user === undefined || user.length <= maxUser) return params;
  const reason = `the upstream takes ${maxUser} characters`;
  decisions.push({ path: paramPath("user", traits), action: "changed", reason });
  return { ...params, user: user.slice(0, maxUser) };
}

/** The API wants a limit in every request. */
function limitFor(turn: Turn<UpstreamName>, profile: Profile, decisions: Decision[]): number {
  const { maxTokens: asked } = turn.params;
  const { maxTokens: most } = profile;
  if (asked === undefined) return most ?? MAX_TOKENS;
  if (most === undefined || asked <= most) return asked;
  const path = paramPath("maxTokens", turn.traits);
  decisions.push({ path, action: "changed", reason: `the model gives ${most} tokens at most` });
  return most;
}

function askToThink(
  body: Body,
  turn: Turn<UpstreamName>,
  profile: Profile,
  { thinking, effort, decisions }: Thinking,
): readonly Decision[] {
  if (effort !== undefined) body.output_config = { ...fieldsOf(body.output_config), effort };
  if (thinking === undefined) return decisions;
  body.thinking = thinking;
  if (profile.thinking?.leads !== true || thinking.type === "disabled") return decisions;
  if (!lacksThought(body.messages)) return decisions;
  body.thinking = { type: "disabled" };
  const reason = "what was thought before the last calls is not known, and the model wants it back";
  const path = paramPath(turn.params.thinking === undefined ? "effort" : "thinking", turn.traits);
  return [...decisions, { path, action: "changed", reason }];
}

/** True if a turn that continues with results did not begin with a thought. */
function lacksThought(messages: unknown): boolean {
  const list = (listOf(messages) ?? []).map((one) => fieldsOf(one) ?? {});
  const blocksOf = (message: Fields): readonly Fields[] =>
    (listOf(message.content) ?? []).map((one) => fieldsOf(one) ?? {});
  const isResult = (block: Fields): boolean => block.type === "tool_result";
  // The turn of the model began after the last message of the user without results.
  const start = list.findLastIndex(
    (message) => message.role === "user" && !blocksOf(message).some(isResult),
  );
  const first = list.slice(start + 1).find(({ role }) => role === "assistant");
  const [block] = first === undefined ? [] : blocksOf(first);
  return block !== undefined && block.type !== "thinking" && block.type !== "redacted_thinking";
}

/** Fits sampling into the limits of the API; a model that thinks takes none. */
function fitSampling(body: Body, turn: Turn<UpstreamName>, profile: Profile): Decision[] {
  const decisions: Decision[] = [];
  const isThinking = body.thinking !== undefined && fieldsOf(body.thinking)?.type !== "disabled";
  const drop = (key: string, name: "temperature" | "topP" | "topK", reason: string): void => {
    if (body[key] === undefined) return;
    const isIdle = body[key] === 1;
    delete body[key];
    if (!isIdle) decisions.push({ path: paramPath(name, turn.traits), action: "dropped", reason });
  };
  if (isThinking) {
    const reason = "a model that thinks takes no sampling parameters";
    drop("temperature", "temperature", reason);
    drop("top_k", "topK", reason);
    if ((numberOf(body.top_p) ?? 1) < 0.95) drop("top_p", "topP", reason);
  }
  if (profile.exclusiveSampling === true && body.temperature !== undefined)
    drop("top_p", "topP", "the model takes one of temperature and top_p");
  if ((numberOf(body.temperature) ?? 0) > 1) {
    body.temperature = 1;
    const reason = "the highest temperature of the messages dialect is 1";
    decisions.push({ path: paramPath("temperature", turn.traits), action: "changed", reason });
  }
  const stops = listOf(body.stop_sequences);
  if (stops?.some(isBlankText) === true)
    body.stop_sequences = stops.filter((one) => !isBlankText(one));
  return decisions;
}

const isBlankText = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

function askForFormat(body: Body, { format, traits }: Turn<UpstreamName>): Decision[] {
  if (format === undefined || format.type === "text") return [];
  const written = writeFormat(format);
  if (written === undefined) {
    const reason = "the messages dialect has no such format";
    return [{ path: traits.format.path, action: "dropped", reason }];
  }
  body.output_config = { ...fieldsOf(body.output_config), format: written };
  return [];
}

/** A model that thinks cannot be forced to call a tool. */
function choose(
  body: Body,
  { toolChoice: choice, traits }: Turn<UpstreamName>,
  parallel: boolean | undefined,
): Decision[] {
  const isForced = choice?.type === "required" || choice?.type === "tool";
  const thinking = fieldsOf(body.thinking)?.type;
  const isThinking = thinking !== undefined && thinking !== "disabled";
  const written = writeChoice(isForced && isThinking ? { type: "auto" } : choice, parallel);
  if (written !== undefined) body.tool_choice = written;
  if (!isForced || !isThinking) return [];
  const reason = "a model that thinks cannot be forced to call a tool";
  return [{ path: traits.toolChoice, action: "changed", reason }];
}

type WrittenMessages = {
  readonly system: readonly Fields[];
  readonly messages: readonly Fields[];
  readonly decisions: Decision[];
};

/** Writes the conversation: instructions apart, roles in turn, results first and together. */
function writeMessages(
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
