import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Body } from "./fake-upstream.ts";

const folder = fileURLToPath(new URL("../../../shared/fixtures/vercel-ai/", import.meta.url));

type Entry = { readonly file: string; readonly dialect: string; readonly format: "jsonl" | "json" };

/** One answer of a Claude, as frames or as a body of the Messages API. */
export type MessagesRecording = {
  readonly file: string;
  readonly streamed: boolean;
  /** The data of each frame, or the one body. */
  readonly data: readonly string[];
  /** What it comes to, put together as the API's own clients do. */
  readonly message: Body;
};

const index = existsSync(`${folder}index.json`)
  ? (JSON.parse(readFileSync(`${folder}index.json`, "utf8")) as Entry[])
  : [];

function turnsOf({ file, format, dialect }: Entry): Body[][] {
  const text = readFileSync(folder + file, "utf8");
  if (format === "json") {
    const body = JSON.parse(text) as Body;
    return [[dialect === "bedrock" ? bodyFromBedrock(body) : body]];
  }
  const events = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Body);
  if (dialect === "bedrock") return [framesFromBedrock(events)];
  const turns: Body[][] = [[]];
  for (const event of events) {
    turns.at(-1)?.push(event);
    if (event["type"] === "message_stop") turns.push([]);
  }
  return turns.filter((turn) => turn.length > 0);
}

/**
 * The recordings of Bedrock are of its Converse API, which frames the same
 * blocks in other words. Its other API sends the frames of Messages.
 */
function framesFromBedrock(events: readonly Body[]): Body[] {
  const frames: Body[] = [];
  const opened = new Set<number>();
  const usage = { input_tokens: 0, output_tokens: 0 };
  let stop: unknown = "end_turn";
  const open = (at: number, content_block: Body): void => {
    if (!opened.has(at)) frames.push({ type: "content_block_start", index: at, content_block });
    opened.add(at);
  };
  for (const {
    contentBlockStart,
    contentBlockDelta,
    contentBlockStop,
    messageStop,
    metadata,
  } of events) {
    const { contentBlockIndex: at = 0 } = (contentBlockStart ??
      contentBlockDelta ??
      contentBlockStop ??
      {}) as Body;
    const call = contentBlockStart?.start?.toolUse as Body | undefined;
    if (call !== undefined)
      open(at, { type: "tool_use", id: call["toolUseId"], name: call["name"], input: {} });
    const delta = contentBlockDelta?.delta as Body | undefined;
    if (delta !== undefined) {
      open(at, blockFor(delta));
      for (const one of deltasFrom(delta))
        frames.push({ type: "content_block_delta", index: at, delta: one });
    }
    if (contentBlockStop !== undefined && opened.has(at))
      frames.push({ type: "content_block_stop", index: at });
    if (messageStop !== undefined) stop = messageStop.stopReason;
    usage.input_tokens = (metadata?.usage?.inputTokens as number | undefined) ?? usage.input_tokens;
    usage.output_tokens =
      (metadata?.usage?.outputTokens as number | undefined) ?? usage.output_tokens;
  }
  const message = {
    ...HEAD,
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return [
    { type: "message_start", message },
    ...frames,
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

const HEAD = {
  id: "msg_bedrock",
  type: "message",
  role: "assistant",
  model: "claude-on-bedrock",
  stop_sequence: null,
};

const blockFor = ({ reasoningContent, toolUse }: Body): Body => {
  if (reasoningContent !== undefined) return { type: "thinking", thinking: "", signature: "" };
  return toolUse === undefined ? { type: "text", text: "" } : { type: "tool_use", input: {} };
};

function deltasFrom({ text, toolUse, reasoningContent }: Body): Body[] {
  if (toolUse !== undefined)
    return [{ type: "input_json_delta", partial_json: toolUse.input as string }];
  if (reasoningContent?.signature !== undefined)
    return [{ type: "signature_delta", signature: reasoningContent.signature as string }];
  if (reasoningContent?.text !== undefined)
    return [{ type: "thinking_delta", thinking: reasoningContent.text as string }];
  return text === undefined ? [] : [{ type: "text_delta", text: text as string }];
}

function bodyFromBedrock({ output, usage, stopReason }: Body): Body {
  const content = (output.message.content as Body[]).map(
    ({ text, toolUse, reasoningContent }): Body => {
      if (toolUse !== undefined)
        return {
          type: "tool_use",
          id: toolUse.toolUseId,
          name: toolUse.name,
          input: toolUse.input,
        };
      if (reasoningContent === undefined) return { type: "text", text };
      const { text: thinking, signature } = reasoningContent.reasoningText as Body;
      return { type: "thinking", thinking, signature };
    },
  );
  const counts = { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens };
  return { ...HEAD, content, stop_reason: stopReason, usage: counts };
}

const grows: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  compaction_delta: "content",
};

/** Half a call, where another answer broke into it, stays as it is. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Frames as one message: what `message_delta` says replaces what was said before. */
function accumulated(events: readonly Body[]): Body {
  let message: Body = {};
  const blocks: Body[] = [];
  const inputs = new Map<number, string>();
  for (const event of events) {
    const { type, index: at, delta } = event;
    if (type === "message_start" && blocks.length === 0) {
      message = event["message"] as Body;
      blocks.push(...(message["content"] as Body[]));
    }
    if (type === "content_block_start") blocks[at as number] = { ...event["content_block"] };
    if (type === "content_block_delta") {
      const block = blocks[at as number] ?? {};
      const key = grows[delta.type as string];
      if (key !== undefined) block[key] = ((block[key] ?? "") as string) + (delta[key] as string);
      if (delta.type === "signature_delta") block["signature"] = delta.signature as string;
      if (delta.type === "citations_delta")
        block["citations"] = [...((block["citations"] ?? []) as Body[]), delta.citation];
      if (delta.type === "input_json_delta")
        inputs.set(at as number, (inputs.get(at as number) ?? "") + (delta.partial_json as string));
    }
    if (type === "message_delta") {
      message = { ...message, ...delta, usage: { ...message["usage"], ...event["usage"] } };
    }
  }
  for (const [at, text] of inputs) if (text !== "") (blocks[at] ?? {})["input"] = valueOf(text);
  return { ...message, content: blocks.filter((block) => block !== undefined) };
}

/** Every answer recorded at Anthropic and at Bedrock, a conversation split into its turns. */
export const messagesRecordings: readonly MessagesRecording[] = index.flatMap((entry) => {
  if (entry.dialect !== "anthropic" && entry.dialect !== "bedrock") return [];
  const turns = turnsOf(entry);
  return turns.map((events, turn) => ({
    file: turns.length === 1 ? entry.file : `${entry.file}, turn ${turn + 1}`,
    streamed: entry.format === "jsonl",
    data: events.map((event) => JSON.stringify(event)),
    message: entry.format === "jsonl" ? accumulated(events) : (events[0] ?? {}),
  }));
});
