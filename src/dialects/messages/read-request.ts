/** Reads Messages requests as turns. */
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
import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { clientName } from "../../turn/names.ts";
import type { RequestHeaders } from "../dialect.ts";
import { fieldsOf, filledText, inputText, listOf } from "../shared/loose.ts";
import { repairInto, invalid, readModel, shaped } from "../shared/shape.ts";
import { readParams } from "../shared/params.ts";
import { responsesDoor } from "../responses/traits.ts";
import { readChoice, readTools } from "./tools.ts";
import { blocksIn, readPart, readParts } from "./content-parts.ts";
import { effortIn, readFormat, readThinking, readTier } from "./thinking.ts";
import { blockSchemas, bodySchema, groupSchema, messageSchema } from "./schema.ts";
import { messagesTraits } from "./traits.ts";
import { extraOf, reasoningBlock, UNSIGNED } from "./extra.ts";

/** The kind of the tool of a name, for calls of tools that are declared by their type alone. */
export type KindOfTool = (name: string) => string;

/** Reads `messages` as items: one message may hold results and words, or thoughts, words and calls. */
function readMessages(
  messages: readonly unknown[],
  kindOfTool: KindOfTool,
): { readonly items: readonly Item[]; readonly places: readonly number[] } {
  const items: Item[] = [];
  const places: number[] = [];
  const kinds = new Map<string, string>();
  for (const [at, raw] of messages.entries()) {
    const path = `messages[${at}]`;
    const { role, content, ...rest } = shaped(messageSchema, raw, path);
    const reader = new BlockReader(role, kindOfTool, kinds);
    for (const [index, block] of blocksIn(content, `${path}.content`).entries())
      reader.each(block, `${path}.content[${index}]`);
    append(items, reader.end(rest));
    while (places.length < items.length) places.push(at);
  }
  return { items, places };
}

/** Reads the blocks of one message. Neighbouring parts are one message item. */
class BlockReader {
  readonly #role: Message["role"];
  readonly #kindOfTool: KindOfTool;
  /** The kinds of calls, by their ids. */
  readonly #kinds: Map<string, string>;
  readonly #items: Item[] = [];
  #parts: Part[] | undefined;

  constructor(role: Message["role"], kindOfTool: KindOfTool, kinds: Map<string, string>) {
    this.#role = role;
    this.#kindOfTool = kindOfTool;
    this.#kinds = kinds;
  }

  each(block: Fields, path: string): void {
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
        return this.#part(readPart(block, path));
      default:
        // What an assistant's provider did itself stands in order among its words.
        if (this.#role === "assistant")
          return this.#add({ type: "opaque", dialect: "messages", raw: block });
        return this.#part(readPart(block, path));
    }
  }

  /** The items; what the message says beside its content goes with the first message of it. */
  end(rest: Fields): readonly Item[] {
    const { extra } = extraOf(...splitEffort(rest));
    if (this.#items.length === 0 || extra !== undefined) this.#parts ??= [];
    this.#close(extra);
    return this.#items;
  }

  #part(part: Part): void {
    (this.#parts ??= []).push(part);
  }

  #add(item: Item): void {
    this.#close();
    this.#items.push(item);
  }

  #close(extra?: Message["extra"]): void {
    if (this.#parts === undefined) return;
    const message: Message = { type: "message", role: this.#role, parts: this.#parts };
    this.#items.push(extra === undefined ? message : { ...message, extra });
    this.#parts = undefined;
  }

  #call(block: Fields, path: string): Call {
    const { type: _, id, name, input, ...rest } = shaped(blockSchemas.tool_use, block, path);
    const kind = this.#kindOfTool(name);
    if (kind !== "function") this.#kinds.set(id, kind);
    return {
      type: "call",
      id,
      kind,
      name: clientName(name),
      input: inputText(input ?? {}),
      ...extraOf(rest),
    };
  }

  #result(block: Fields, path: string): Result {
    const read = shaped(blockSchemas.tool_result, block, path);
    const { type: _, tool_use_id: call, content, is_error, ...rest } = read;
    return {
      type: "result",
      call,
      kind: this.#kinds.get(call) ?? "function",
      parts: readParts(content, `${path}.content`),
      ...(is_error === true && { isError: true }),
      ...extraOf(rest),
    };
  }
}

/** A thought; what it is signed with is opaque, and ours or the provider's. */
function readThought(block: Fields, path: string): Reasoning {
  if (block.type === "redacted_thinking") {
    const { data } = shaped(blockSchemas.redacted_thinking, block, path);
    return {
      type: "reasoning",
      summary: [],
      content: [],
      encrypted: data ?? undefined,
      extra: reasoningBlock("redacted_thinking"),
    };
  }
  const { thinking, signature } = shaped(blockSchemas.thinking, block, path);
  const isSigned = signature != null && signature !== "" && signature !== UNSIGNED;
  return {
    type: "reasoning",
    summary: thinking == null || thinking === "" ? [] : [thinking],
    content: [],
    ...(isSigned && { encrypted: signature }),
    extra: reasoningBlock("thinking"),
  };
}

/** The effort of one system message is read as that of the turn, so nothing else of it is lost. */
function splitEffort({ output_config, ...rest }: Fields): [Fields, Fields] {
  return output_config === undefined ? [rest, {}] : [rest, { output_config }];
}

/** What is read here and not by the table of parameters. */
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

/** A thread that the gateway keeps is none to its upstream. */
const threadBeta = /(?:^|,)\s*message-threads-[\w-]+(?=\s*(?:,|$))/g;

/** Names of headers that say something of the request. */
const headerNames = ["anthropic-version", "anthropic-beta"];

export function readRequest(body: Fields, _path?: unknown, headers?: RequestHeaders): Turn {
  const model = readModel(body.model);
  if (body.messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  const { messages, stream } = shaped(bodySchema, body, "");
  // An upstream that keeps a thread also goes on with it where nothing is added.
  if (messages.length === 0 && body.thread == null)
    throw invalid("messages", "must hold at least one message");
  const { params, extra } = readParams(messagesTraits, body, own);
  const tools = readTools(body.tools, () => loadedBy(messages));
  const kindOfTool = kindsOf(tools);
  const { items, places } = readMessages(messages, kindOfTool);
  const system = readSystem(body.system);
  const { choice, parallel } = readChoice(body.tool_choice, kindOfTool);
  const repairs: Decision[] = [];
  const format = readFormats(body, repairInto(repairs));
  const said = headersSaid(headers, body);
  return {
    dialect: "messages",
    traits: messagesTraits,
    model,
    items: system === undefined ? items : [system, ...items],
    places: system === undefined ? places : [0, ...places],
    tools,
    toolChoice: choice,
    format,
    params: {
      ...readThinking(params, effortIn(messages)),
      ...readTier(params.serviceTier),
      ...(parallel === false && { parallelCalls: false }),
    } satisfies Params,
    stream: stream === true,
    usageWanted: true,
    extra: withHints(extra, body),
    repairs,
    body,
    ...(said !== undefined && { headers: said }),
  };
}

function readSystem(system: unknown): Item | undefined {
  if (system === undefined || system === null || system === "") return undefined;
  const parts = readParts(system, "system");
  if (parts.length === 0) return undefined;
  return { type: "message", role: "system", parts, instructions: true };
}

function readFormats(body: Fields, repair: (path: string, reason: string) => void) {
  const config = shaped(groupSchema, body.output_config, "output_config");
  if (config?.format != null || body.output_format == null)
    return readFormat(config?.format, "output_config.format");
  repair("output_format", "it has moved to `output_config.format`");
  return readFormat(body.output_format, "output_format");
}

/** The kind of each tool that is declared by its type; calls name the tool alone. */
function kindsOf(tools: readonly Tool[]): KindOfTool {
  const kinds = new Map<string, string>();
  for (const tool of tools) if (tool.type === "builtin") kinds.set(tool.name, tool.kind);
  return (name) => kinds.get(name) ?? "function";
}

/** The tools that results and system messages of the conversation have brought up. */
function loadedBy(messages: readonly unknown[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const visit = (value: unknown): void => {
    for (const raw of listOf(value) ?? []) {
      const block = fieldsOf(raw);
      const named = filledText(block?.tool_name) ?? filledText(fieldsOf(block?.tool)?.name);
      if (block?.type === "tool_reference" && named !== undefined) loaded.add(named);
      if (block?.type === "tool_addition" && named !== undefined) loaded.add(named);
      if (block?.type === "tool_removal" && named !== undefined) loaded.delete(named);
      if (block?.type === "tool_result") visit(block.content);
      if (block?.type === "tool_search_tool_result")
        visit(fieldsOf(block.content)?.tool_references);
    }
  };
  for (const message of messages) visit(fieldsOf(message)?.content);
  return loaded;
}

/** Fields that bear on cost, speed or what the provider makes of them for itself. */
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

/** Whether nothing of the conversation is to be left out, as is the rule anyway. */
const keepsAll = (value: unknown): boolean => {
  const edits = listOf(fieldsOf(value)?.edits) ?? [];
  return edits.every((edit) => {
    if (!isFields(edit) || !String(edit.type).startsWith("clear_thinking")) return false;
    return edit.keep === "all" || edit.keep === undefined;
  });
};

function headersSaid(
  headers: RequestHeaders | undefined,
  body: Fields,
): Record<string, string> | undefined {
  let said: Record<string, string> | undefined;
  for (const name of headerNames) {
    const value = headers?.[name];
    const all = typeof value === "string" ? value : value?.join(",");
    const text = body.thread == null ? all?.replace(threadBeta, "") : all;
    if (text !== undefined && text !== "") (said ??= {})[name] = text;
  }
  return said;
}
