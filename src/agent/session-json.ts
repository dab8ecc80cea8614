import { z } from "zod";
import { Fault } from "../turn/fault.ts";
import type { Item } from "../turn/turn.ts";
import type { SessionEvent } from "./session.ts";

const timestamp = z.number();
const path = z.string().min(1);
const names = z.array(z.string());

/** Items are the vocabulary's own; only what the loop relies on is looked at. */
const item = z.custom<Item>(
  (value) =>
    z
      .union([
        z.looseObject({
          type: z.literal("message"),
          role: z.string(),
          parts: z.array(z.unknown()),
        }),
        z.looseObject({
          type: z.literal("reasoning"),
          summary: z.array(z.string()),
          content: z.array(z.string()),
        }),
        z.looseObject({
          type: z.literal("call"),
          id: z.string(),
          kind: z.string(),
          name: z.string(),
          input: z.string(),
        }),
        z.looseObject({
          type: z.literal("result"),
          call: z.string(),
          kind: z.string(),
          parts: z.array(z.unknown()),
        }),
        z.looseObject({ type: z.literal("opaque"), raw: z.looseObject({}) }),
      ])
      .safeParse(value).success,
  "is not an item of a conversation",
);

const event = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("visibility-set"),
    path,
    visibility: z.enum(["full", "summary"]),
    by: z.enum(["model", "call", "choice", "caller", "history"]),
    timestamp: timestamp.optional(),
  }),
  z.object({
    type: z.literal("tools-injected"),
    sectionKey: path,
    toolNames: names,
    timestamp,
    callId: z.string().optional(),
  }),
  z.object({
    type: z.literal("thread-started"),
    adapter: z.string(),
    strategy: z.string(),
    role: z.enum(["system", "user"]),
    timestamp,
  }),
  z.object({
    type: z.literal("item-added"),
    item,
    wrapped: z.string().optional(),
    loaded: names.optional(),
  }),
]);

const saved = z.object({ version: z.literal(1), events: z.array(event) });

/** The events of a saved session. */
export function readEvents(value: unknown): readonly SessionEvent[] {
  const read = saved.safeParse(value);
  if (read.success) return read.data.events;
  const [first] = read.error.issues;
  const where = first === undefined ? "" : ` at \`${first.path.join(".")}\`: ${first.message}`;
  throw new Fault(
    "agent.invalid",
    `This is not a saved session of version 1${where}. Give \`Session.from\` what \`JSON.parse\` made of a session's own JSON.`,
    {},
    read.error,
  );
}
