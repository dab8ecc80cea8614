import { createHash } from "node:crypto";
import { fieldsOf, filledText, listOf } from "../../dialects/shared/loose.ts";
import { jsonOf, ordered } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Clock } from "../../turn/clock.ts";
import type { ModelCall, ModelOutput } from "./answer-reader.ts";
import type { CodexRequest } from "./request.ts";

/** A request with the results that a parked thread waits for. */
export type Resumption = {
  /** The key of the parked thread. */
  readonly key: string;
  /** The `contentItems` of each call, in the order of the calls: clients may have other ids. */
  readonly results: readonly (readonly Fields[])[];
  /** The user's messages after the results: the input of one `turn/steer` for each. */
  readonly more: readonly (readonly Fields[])[];
};

/** The key of a tenant's thread, by the request that it answered and its output. */
export const threadKey = (tenant: string, request: CodexRequest, output: ModelOutput): string =>
  hashOf(tenant, request, { before: withoutReasoning(request.items), output });

/**
 * The request as a continuation, if it ends with calls, a result for each, and
 * then only messages of the user. Reasoning is not compared: the thread has its
 * own, and not every client returns it.
 */
export function continuationOf(tenant: string, request: CodexRequest): Resumption | undefined {
  const items = withoutReasoning(request.items);
  const end = items.findLastIndex((item) => item.type === "function_call_output") + 1;
  const more = items.slice(end).map(steerInput);
  let at = end;
  const byCall = new Map<string, readonly Fields[]>();
  for (; items[at - 1]?.type === "function_call_output"; at--) {
    const result = items[at - 1];
    const content = contentItems(result?.output);
    if (content === undefined) return undefined;
    byCall.set(filledText(result?.call_id) ?? "", content);
  }
  const output: ModelOutput = { text: "", calls: [] };
  for (; items[at - 1]?.type === "function_call"; at--) output.calls.unshift(callIn(items[at - 1]));
  for (; isAssistantMessage(items[at - 1]); at--)
    output.text = messageText(items[at - 1]) + output.text;
  const { calls } = output;
  const results = calls.map(({ id }) => byCall.get(id)).filter((one) => one !== undefined);
  const isAnswered = calls.length > 0 && results.length === calls.length;
  if (!isAnswered || byCall.size !== calls.length || more.includes(undefined)) return undefined;
  return {
    key: hashOf(tenant, request, { before: items.slice(0, at), output }),
    results,
    more: more.filter((input) => input !== undefined),
  };
}

/**
 * True if Codex will ask for the results of all of these calls. It answers
 * calls of unknown tools and calls with arguments that are not JSON itself.
 */
export function awaitsResults({ calls }: ModelOutput, { thread }: CodexRequest): boolean {
  const tools = listOf(thread.dynamicTools) ?? [];
  const names = new Set(tools.map((tool) => fieldsOf(tool)?.name));
  const ids = new Set(calls.map(({ id }) => id));
  return (
    ids.size === calls.length &&
    !ids.has("") &&
    calls.every(
      (call) => call.isDynamic && names.has(call.name) && jsonOf(call.input) !== undefined,
    )
  );
}

const withoutReasoning = (items: readonly Fields[]): readonly Fields[] =>
  items.filter((item) => item.type !== "reasoning");

function hashOf(
  tenant: string,
  { thread, options }: CodexRequest,
  { before, output }: { readonly before: readonly Fields[]; readonly output: ModelOutput },
): string {
  // Clients may serialise arguments anew, so they are compared as values.
  const calls = output.calls.map(({ name, input }) => [name, ordered(jsonOf(input))]);
  const text = JSON.stringify([tenant, thread, options, before, output.text, calls]);
  return createHash("sha256").update(text).digest("base64");
}

const callIn = (item: Fields | undefined): ModelCall => ({
  id: filledText(item?.call_id) ?? "",
  name: filledText(item?.name) ?? "",
  input: filledText(item?.arguments) ?? "",
  isDynamic: true,
});

const isAssistantMessage = (item: Fields | undefined): boolean =>
  item?.type === "message" && item.role === "assistant";

const messageText = (item: Fields | undefined): string =>
  (listOf(item?.content) ?? []).map((part) => filledText(fieldsOf(part)?.text) ?? "").join("");

/**
 * The output of a result as the response to `item/tool/call`; undefined if an
 * image is not in high detail, because Codex sends every image of a response so.
 */
function contentItems(output: unknown): Fields[] | undefined {
  if (typeof output === "string") return [{ type: "inputText", text: output }];
  const parts = (listOf(output) ?? []).map(fieldsOf);
  const isImage = (part: Fields | undefined): boolean => part?.type === "input_image";
  if (parts.some((part) => isImage(part) && part?.detail !== "high")) return undefined;
  return parts.map((part) =>
    isImage(part)
      ? { type: "inputImage", imageUrl: part?.image_url }
      : { type: "inputText", text: filledText(part?.text) ?? "" },
  );
}

/** A user message as the input of `turn/steer`, which takes nothing else. */
function steerInput(item: Fields): readonly Fields[] | undefined {
  if (item.type !== "message" || item.role !== "user") return undefined;
  return (listOf(item.content) ?? []).map((one): Fields => {
    const part = fieldsOf(one);
    // Without a detail Codex would send `high`, which costs more than the API's default.
    if (part?.type === "input_image")
      return { type: "image", url: part.image_url, detail: part.detail ?? "auto" };
    return { type: "text", text: filledText(part?.text) ?? "" };
  });
}

type Entry = { readonly key: string; readonly cancelTimer: () => void };

type ParkedOptions = {
  readonly clock: Clock;
  /** Longest wait of a thread, in milliseconds. */
  readonly ttl: number;
  /** Most waiting threads; beyond it the oldest is released. */
  readonly limit: number;
};

/** Threads that wait for the results of their calls, by the key of their conversation. */
export class ParkedThreads<T extends { release(): void }> {
  readonly #options: ParkedOptions;
  /** Oldest first. Equal conversations have the same key. */
  readonly #entries = new Map<T, Entry>();

  constructor(options: ParkedOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns false if no thread may wait. */
  park(key: string, thread: T): boolean {
    const { clock, ttl, limit } = this.#options;
    if (ttl === 0 || limit === 0) return false;
    const cancelTimer = clock.at(clock.now() + ttl, () => this.#release(thread));
    this.#entries.set(thread, { key, cancelTimer });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > limit && oldest !== undefined) this.#release(oldest);
    return true;
  }

  /** Removes one thread of this key and returns it. */
  take(key: string): T | undefined {
    for (const [thread, entry] of this.#entries) {
      if (entry.key !== key) continue;
      this.remove(thread);
      return thread;
    }
    return undefined;
  }

  remove(thread: T): void {
    this.#entries.get(thread)?.cancelTimer();
    this.#entries.delete(thread);
  }

  clear(): void {
    for (const thread of this.#entries.keys()) this.#release(thread);
  }

  #release(thread: T): void {
    this.remove(thread);
    thread.release();
  }
}
