/** Threads: conversations that are stored between requests. The first request has system and tools, the others only new messages. */

import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { AskedThread, ThreadForm } from "../dialect.ts";
import { fieldsOf, listOf } from "../shared/loose.ts";
import { fieldsAt, invalid } from "../shared/shape.ts";

/** Fields of the request that creates a thread, and of no other. */
const headKeys = ["system", "tools"] as const;

export const threads: ThreadForm = {
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
