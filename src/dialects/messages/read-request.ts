import { isFields } from "../../json/json.ts";
import type {
  Call,
  Extra,
  Fields,
  Item,
  Message,
  Params,
  Part,
  Reasoning,
  Result,
  Tool,
  Turn,
} from "../../turn/turn.ts";
import type { Decision } from "../../turn/decision.ts";
import { clientName } from "../../turn/names.ts";
import type { RequestHeaders } from "../dialect.ts";
import { fieldsOf, filledText, inputText, listOf } from "../shared/loose.ts";
import { readParams } from "../shared/params.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalFlagAt,
  optionalTextAt,
  readModel,
} from "../shared/shape.ts";
import { responsesDoor } from "../responses/traits.ts";
import { readChoice, readTools } from "./tools.ts";
import { contentBlocks, readPart, readParts } from "./content-parts.ts";
import { effortIn, readFormat, readThinking, readTier } from "./thinking.ts";
import { messagesTraits } from "./traits.ts";
import { messagesExtra, reasoningBlock, UNSIGNED } from "./extra.ts";

/** Finds the kind of a tool by its name, for calls of tools that are declared by their type alone. */
export type KindOfTool = (name: string) => string;

/**
 * Reads `messages` as items: one message may contain results and text, or thoughts, text and calls.
 * Neighbouring parts of one message are one message item.
 */
class ConversationReader {
  readonly items: Item[] = [];
  /** The index of the message that each item is from. */
  readonly places: number[] = [];
  readonly #kindOfTool: KindOfTool;
  /** The kinds of calls by their ids, except functions. */
  readonly #kinds = new Map<string, string>();
  #role: Message["role"] = "user";
  #parts: Part[] | undefined;

  constructor(messages: readonly unknown[], kindOfTool: KindOfTool) {
    this.#kindOfTool = kindOfTool;
    for (let at = 0; at < messages.length; at++) this.#message(messages[at], at);
  }

  #message(raw: unknown, at: number): void {
    const { items, places } = this;
    const first = items.length;
    const path = `messages[${at}]`;
    const message = fieldsAt(raw, path, "a message: an object with `role` and `content`");
    const { role, content, output_config, ...rest } = message;
    if (role !== "user" && role !== "assistant" && role !== "system")
      throw invalid(`${path}.role`, "must be one of user, assistant, system");
    this.#role = role;
    const blocks = contentBlocks(content, `${path}.content`);
    for (let index = 0; index < blocks.length; index++)
      this.#block(blocks[index] ?? {}, `${path}.content[${index}]`);
    // The effort of a system message becomes that of the turn, so it is a hint here.
    const { extra } = messagesExtra(
      rest,
      output_config === undefined ? undefined : { output_config },
    );
    if (items.length === first || extra !== undefined) this.#parts ??= [];
    this.#close(extra);
    while (places.length < items.length) places.push(at);
  }

  #block(block: Fields, path: string): void {
    switch (block.type) {
      case "tool_use":
        return this.#add(this.#call(block, path));
      case "tool_result":
        return this.#add(this.#result(block, path));
      case "thinking":
      case "redacted_thinking":
        return this.#add(readThought(block, path));
      case "text":
      case "image":
      case "document":
      case "search_result":
        break;
      default:
        // Blocks that a provider made for itself keep their place in the text of an assistant.
        if (this.#role === "assistant")
          return this.#add({ type: "opaque", dialect: "messages", raw: block });
    }
    (this.#parts ??= []).push(readPart(block, path));
  }

  #add(item: Item): void {
    this.#close(undefined);
    this.items.push(item);
  }

  #close(extra: Extra | undefined): void {
    if (this.#parts === undefined) return;
    const message: Message = { type: "message", role: this.#role, parts: this.#parts };
    this.items.push(extra === undefined ? message : { ...message, extra });
    this.#parts = undefined;
  }

  #call(block: Fields, path: string): Call {
    const { type: _, id: rawId, name: rawName, input, ...rest } = block;
    const id = filledTextAt(rawId, `${path}.id`);
    const name = filledTextAt(rawName, `${path}.name`);
    const kind = this.#kindOfTool(name);
    if (kind !== "function") this.#kinds.set(id, kind);
    return {
      type: "call",
      id,
      kind,
      name: clientName(name),
      input: inputText(input ?? {}),
      ...messagesExtra(rest),
    };
  }

  #result(block: Fields, path: string): Result {
    const { type: _, tool_use_id, content, is_error, ...rest } = block;
    const call = filledTextAt(tool_use_id, `${path}.tool_use_id`);
    const isError = optionalFlagAt(is_error, `${path}.is_error`) === true;
    return {
      type: "result",
      call,
      kind: this.#kinds.get(call) ?? "function",
      parts: readParts(content, `${path}.content`),
      ...(isError && { isError }),
      ...messagesExtra(rest),
    };
  }
}

/** Reads a thought. Its signature is opaque: the gateway or a provider made it. */
function readThought(block: Fields, path: string): Reasoning {
  if (block.type === "redacted_thinking") {
    const encrypted = optionalTextAt(block.data, `${path}.data`);
    const extra = reasoningBlock("redacted_thinking");
    return { type: "reasoning", summary: [], content: [], encrypted, extra };
  }
  const thinking = optionalTextAt(block.thinking, `${path}.thinking`) ?? "";
  const signature = filledText(optionalTextAt(block.signature, `${path}.signature`));
  const isSigned = signature !== undefined && signature !== UNSIGNED;
  return {
    type: "reasoning",
    summary: thinking === "" ? [] : [thinking],
    content: [],
    ...(isSigned && { encrypted: signature }),
    extra: reasoningBlock("thinking"),
  };
}

/** Fields that are read here and not by the table of parameters. */
const own = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "output_format",
  "output_config.format",
  "stream",
]);

/** The beta of threads: the gateway stores threads, its upstream receives whole conversations. */
const threadBeta = /(?:^|,)\s*message-threads-[\w-]+(?=\s*(?:,|$))/g;

const headerNames = ["anthropic-version", "anthropic-beta"];

const none: readonly Decision[] = [];
const formatMoved: readonly Decision[] = [
  { path: "output_format", action: "repaired", reason: "it has moved to `output_config.format`" },
];

export function readRequest(body: Fields, _path?: unknown, headers?: RequestHeaders): Turn {
  const model = readModel(body.model);
  if (body.messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  const { messages } = body;
  if (!Array.isArray(messages))
    throw invalid(
      "messages",
      'must be an array of messages such as {"role":"user","content":"Hi"}',
    );
  // A thread can be continued without a new message.
  if (messages.length === 0 && body.thread == null)
    throw invalid("messages", "must hold at least one message");
  const { params, extra } = readParams(messagesTraits, body, own);
  const tools = readTools(body.tools, () => loadedBy(messages));
  const kindOfTool = kindsOf(tools);
  const { items, places } = new ConversationReader(messages, kindOfTool);
  const system = readSystem(body.system);
  const { choice, parallel } = readChoice(body.tool_choice, kindOfTool);
  const config =
    body.output_config == null
      ? undefined
      : fieldsAt(body.output_config, "output_config", "an object");
  const isFormatMoved = config?.format == null && body.output_format != null;
  const sent = sentHeaders(headers, body);
  return {
    dialect: "messages",
    traits: messagesTraits,
    model,
    items: system === undefined ? items : [system, ...items],
    places: system === undefined ? places : [0, ...places],
    tools,
    toolChoice: choice,
    format: isFormatMoved
      ? readFormat(body.output_format, "output_format")
      : readFormat(config?.format, "output_config.format"),
    params: {
      ...readThinking(params, effortIn(messages)),
      ...readTier(params.serviceTier),
      ...(parallel === false && { parallelCalls: false }),
    } satisfies Params,
    stream: optionalFlagAt(body.stream, "stream") === true,
    usageWanted: true,
    extra: withHints(extra, body),
    repairs: isFormatMoved ? formatMoved : none,
    body,
    ...(sent !== undefined && { headers: sent }),
  };
}

function readSystem(system: unknown): Item | undefined {
  if (system === undefined || system === null || system === "") return undefined;
  const parts = readParts(system, "system");
  if (parts.length === 0) return undefined;
  return { type: "message", role: "system", parts, instructions: true };
}

/** The kinds of tools that are declared by their type; calls have only the name of the tool. */
function kindsOf(tools: readonly Tool[]): KindOfTool {
  const kinds = new Map<string, string>();
  for (const tool of tools) if (tool.type === "builtin") kinds.set(tool.name, tool.kind);
  return (name) => kinds.get(name) ?? "function";
}

/** The tools that results and system messages of the conversation have loaded. */
function loadedBy(messages: readonly unknown[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const visit = (value: unknown): void => {
    for (const raw of listOf(value) ?? []) {
      const { type, tool_name, tool, content } = fieldsOf(raw) ?? {};
      const name = filledText(tool_name) ?? filledText(fieldsOf(tool)?.name);
      if (type === "tool_result") visit(content);
      else if (type === "tool_search_tool_result") visit(fieldsOf(content)?.tool_references);
      else if (name === undefined) continue;
      else if (type === "tool_removal") loaded.delete(name);
      else if (type === "tool_reference" || type === "tool_addition") loaded.add(name);
    }
  };
  for (const message of messages) visit(fieldsOf(message)?.content);
  return loaded;
}

/** Fields that concern cost, speed or internals of the provider. */
const hints: ReadonlySet<string> = new Set(["cache_control", "speed", "diagnostics", "safeguards"]);

function withHints(extra: Fields, body: Fields): Extra {
  const fields: Record<string, unknown> = { ...extra };
  const aside: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(extra)) {
    if (!hints.has(key) && !(key === "context_management" && keepsAll(value))) continue;
    delete fields[key];
    if (value !== null) aside[key] = value;
  }
  const display = fieldsOf(body.thinking)?.display;
  if (display != null) aside.thinking = { display };
  return {
    dialect: "messages",
    fields,
    ...(Object.keys(aside).length > 0 && { hints: aside }),
  };
}

/** True if the edits leave nothing out of the conversation, which is the default. */
const keepsAll = (value: unknown): boolean => {
  const edits = listOf(fieldsOf(value)?.edits) ?? [];
  return edits.every((edit) => {
    if (!isFields(edit) || !String(edit.type).startsWith("clear_thinking")) return false;
    return edit.keep === "all" || edit.keep === undefined;
  });
};

function sentHeaders(
  headers: RequestHeaders | undefined,
  body: Fields,
): Record<string, string> | undefined {
  let sent: Record<string, string> | undefined;
  for (const name of headerNames) {
    const value = headers?.[name];
    const all = typeof value === "string" ? value : value?.join(",");
    const text = body.thread == null ? all?.replace(threadBeta, "") : all;
    if (text !== undefined && text !== "") (sent ??= {})[name] = text;
  }
  return sent;
}
