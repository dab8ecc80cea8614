import type { RateLimits } from "../../turn/rate-limit.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf } from "../shared/loose.ts";
import type { AskedThread, Dialect, ThreadForm } from "../dialect.ts";
import { messagesErrorText } from "./error-body.ts";
import { readEvents } from "./read-events.ts";
import { readRequest } from "./read-request.ts";
import { messagesDoor, messagesRoute, messagesTraits } from "./traits.ts";
import { writeAnswer, writeEvents } from "./write-events.ts";
import { writeRequest } from "./write-request.ts";
import { jsonOf } from "../../json/json.ts";
import { fieldsAt, invalid } from "../shared/shape.ts";

/** The version of the requests that are written here: later ones refuse the parameters of sampling. */
const VERSION = "2023-06-01";

/** Fields of the request that creates a thread, and of no other. */
const headKeys = ["system", "tools"] as const;

/** Conversations that are stored between requests. The first request has system and tools, the others only new messages. */
const threads: ThreadForm = {
  type: "threads",
  askedIn,
  inputOf: ({ messages }) => (listOf(messages) ?? []).map((message) => JSON.stringify(message)),
  headOf: (body) =>
    Object.fromEntries(headKeys.flatMap((key) => (body[key] == null ? [] : [[key, body[key]]]))),
  answerItem: (text) =>
    JSON.stringify({ role: "assistant", content: fieldsOf(jsonOf(text))?.content ?? [] }),
  wholeOf(body, { head, items }) {
    const added = listOf(body.messages) ?? [];
    return { ...withoutThread(body), ...head, messages: [...items.filter(hasContent), ...added] };
  },
  withoutThread,
};

/** The Anthropic Messages API and compatible servers. */
export const messages = {
  name: "messages",
  title: "Messages",
  traits: messagesTraits,
  door: {
    routes: [messagesDoor],
    isRequest,
    readRequest,
    history: threads,
    newAnswerId: (newId) => newId("msg"),
    writeEvents,
    ping: 'event: ping\ndata: {"type":"ping"}\n\n',
    endMarker: "",
    writeAnswer,
    writeError: messagesErrorText,
    rateLimitHeaders,
    requestIdHeader: "request-id",
    tokenCount: {
      routes: [`${messagesDoor}/count_tokens`],
      body: (tokens) => ({ input_tokens: tokens }),
    },
  },
  upstream: {
    path: () => messagesRoute,
    headers: (apiKey) => ({
      "anthropic-version": VERSION,
      ...(apiKey ? { "x-api-key": apiKey } : {}),
    }),
    writeRequest,
    readEvents,
    tokenCount: {
      path: `${messagesRoute}/count_tokens`,
      fields: [
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "context_management",
        "mcp_servers",
      ],
    },
    emitsFrames: true,
  },
} as const satisfies Dialect;

/** Keys that no chat request has. */
const keys = ["system", "stop_sequences", "output_config", "anthropic_version"];

/** A chat request has `messages` too, so another sign is needed. */
function isRequest(body: Fields): boolean {
  if (!Array.isArray(body.messages)) return false;
  return (
    keys.some((key) => body[key] !== undefined) ||
    listOf(body.tools)?.some((tool) => fieldsOf(tool)?.input_schema !== undefined) === true ||
    body.messages.some((message) => listOf(fieldsOf(message)?.content)?.some(isOwnBlock))
  );
}

const isOwnBlock = (block: unknown): boolean =>
  ["tool_use", "tool_result", "thinking", "redacted_thinking"].includes(
    String(fieldsOf(block)?.type),
  );

/** The limits of a tenant in the headers that clients of this API read. `now`: milliseconds since the epoch. */
function rateLimitHeaders({ requests, tokens }: RateLimits, now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [kind, state] of Object.entries({ requests, tokens })) {
    if (state === undefined) continue;
    headers[`anthropic-ratelimit-${kind}-limit`] = String(state.limit);
    headers[`anthropic-ratelimit-${kind}-remaining`] = String(state.remaining);
    headers[`anthropic-ratelimit-${kind}-reset`] = new Date(now + state.resetMs).toISOString();
  }
  return headers;
}

function askedIn(body: Fields): AskedThread | undefined {
  if (body.thread == null) return undefined;
  const { type, previous_message_id: previous } = fieldsAt(body.thread, "thread", FORMS);
  if (type === "create") return { type };
  if (type !== "continue") throw invalid("thread.type", "must be one of create, continue");
  if (typeof previous !== "string")
    throw invalid("thread.previous_message_id", "must be the id of the last answer");
  for (const key of headKeys)
    if (body[key] != null)
      throw invalid(
        key,
        "is set when the thread is created; leave it out, or create another thread",
      );
  return { type, previous };
}

const FORMS = '{"type":"create"} or {"type":"continue","previous_message_id":"msg_…"}';

function withoutThread(body: Fields): Fields {
  const { thread: _, ...rest } = body;
  return rest;
}

/** An answer without a single block adds nothing. */
const hasContent = (message: unknown): boolean => {
  const content = listOf(fieldsOf(message)?.content);
  return content === undefined || content.length > 0;
};
