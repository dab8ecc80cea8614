import { append } from "../../turn/append.ts";
import { clientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Message, Part, Reasoning, Result } from "../../turn/turn.ts";
import { inputText } from "../shared/loose.ts";
import { shaped } from "../shared/shape.ts";
import { blocksIn, readPart, readParts } from "./content-parts.ts";
import { extraOf, reasoningBlock } from "./extra.ts";
import { blockSchemas, messageSchema } from "./schema.ts";
import { isUnsigned } from "./unsigned.ts";

/** The kind of the tool of a name, for calls of tools that are declared by their type alone. */
export type KindOfTool = (name: string) => string;

/** Reads `messages` as items: one message may hold results and words, or thoughts, words and calls. */
export function readMessages(
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
  const isSigned = signature != null && signature !== "" && !isUnsigned(signature);
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
