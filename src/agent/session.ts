import { z } from "zod";
import { append } from "../turn/append.ts";
import { Fault } from "../turn/fault.ts";
import type { Item } from "../turn/turn.ts";

/** A section shows its body and tools (`full`) or its summary. */
export type Visibility = "full" | "summary";

/** The cause of an opening. `call`: the model called a tool of the section. `choice`: the caller forced such a tool. */
export type OpenedBy = "model" | "call" | "choice" | "caller" | "history";

/** Sets the visibility of the section at a path. `dispatch` adds omitted fields. */
export type SetVisibilityOverride = {
  readonly type?: "visibility-set" | undefined;
  readonly path: string;
  readonly visibility: Visibility;
  /** `caller` unless given. */
  readonly by?: OpenedBy | undefined;
  /** Milliseconds since the epoch. */
  readonly timestamp?: number | undefined;
};

/** Log entry of a SetVisibilityOverride. */
export type VisibilitySet = SetVisibilityOverride & {
  readonly type: "visibility-set";
  readonly by: OpenedBy;
};

export type ToolsInjected = Readonly<z.infer<typeof toolsInjected>>;
type ThreadStarted = Readonly<z.infer<typeof threadStarted>>;
export type ItemAdded = Readonly<z.infer<typeof itemAdded>>;
export type SessionEvent = VisibilitySet | ToolsInjected | ThreadStarted | ItemAdded;

export type Overrides = ReadonlyMap<string, Visibility>;

/** The read-only session that prompts and tools receive. */
export type SessionView = {
  readonly events: readonly SessionEvent[];
  readonly overrides: Overrides;
  readonly items: readonly Item[];
};

/** The overrides after some events; the last event of a path wins. */
export function overridesIn(events: readonly SessionEvent[]): Overrides {
  const overrides = new Map<string, Visibility>();
  for (const event of events)
    if (event.type === "visibility-set") overrides.set(event.path, event.visibility);
  return overrides;
}

export const threadIn = (events: readonly SessionEvent[]): ThreadStarted | undefined =>
  events.findLast((event) => event.type === "thread-started");

/** Index of the last start of a conversation; -1 if none has started. */
export const threadStart = (events: readonly SessionEvent[]): number =>
  events.findLastIndex(({ type }) => type === "thread-started");

/** The overrides when the conversation started, which its prompt shows. */
export function headOverridesIn(events: readonly SessionEvent[]): Overrides {
  const start = threadStart(events);
  return overridesIn(start === -1 ? events : events.slice(0, start));
}

/** A conversation and its open sections, as an append-only log. `JSON.stringify` saves it, `Session.from` resumes it. */
export class Session implements SessionView {
  readonly #events: SessionEvent[];

  constructor(events: readonly SessionEvent[] = []) {
    this.#events = [...events];
  }

  /** Resumes a session that `JSON.parse` has read. Throws a Fault for any other value. */
  static from(value: unknown): Session {
    const read = saved.safeParse(value);
    if (read.success) return new Session(read.data.events);
    const [first] = read.error.issues;
    const where = first === undefined ? "" : ` at \`${first.path.join(".")}\`: ${first.message}`;
    throw new Fault(
      "agent.invalid",
      `This is not a saved session of version 1${where}. Pass the value that \`JSON.parse\` returns for a session's JSON.`,
      {},
      read.error,
    );
  }

  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  get overrides(): Overrides {
    return overridesIn(this.#events);
  }

  get items(): readonly Item[] {
    return this.#events.flatMap((event) => (event.type === "item-added" ? [event.item] : []));
  }

  dispatch(...events: readonly (SessionEvent | SetVisibilityOverride)[]): void {
    append(this.#events, events.map(asLogged));
  }

  toJSON(): { readonly version: 1; readonly events: readonly SessionEvent[] } {
    return { version: 1, events: this.#events };
  }
}

function asLogged(event: SessionEvent | SetVisibilityOverride): SessionEvent {
  if (!("path" in event)) return event;
  const { path, visibility, by = "caller", timestamp } = event;
  const set: VisibilitySet = { type: "visibility-set", path, visibility, by };
  return timestamp === undefined ? set : { ...set, timestamp };
}

const text = z.string();
const path = text.min(1);
const timestamp = z.number();
const list = z.array(z.unknown());

/** The fields of items that the loop reads; others are kept unchecked. */
const itemFields = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("message"), role: text, parts: list }),
  z.looseObject({ type: z.literal("reasoning"), summary: z.array(text), content: z.array(text) }),
  z.looseObject({ type: z.literal("call"), id: text, kind: text, name: text, input: text }),
  z.looseObject({ type: z.literal("result"), call: text, kind: text, parts: list }),
  z.looseObject({ type: z.literal("opaque"), raw: z.looseObject({}) }),
]);

/**
 * A conversation with a model starts, or restarts with all earlier items. The
 * prompt shows the sections that are open at this point of the log. Results of
 * calls show sections that open later, so that the prompt does not change.
 */
const threadStarted = z.object({
  type: z.literal("thread-started"),
  adapter: text,
  strategy: text,
  // Role of the prompt: `user` if the conversation has no other user message.
  role: z.enum(["system", "user"]),
  timestamp,
});

/** An opening added tools to a running conversation. */
const toolsInjected = z.object({
  type: z.literal("tools-injected"),
  sectionKey: path,
  toolNames: z.array(text).readonly(),
  timestamp,
  // The call of a closed tool that opened the section; absent if the model read the section.
  callId: text.optional(),
});

/** The conversation got an item. */
const itemAdded = z.object({
  type: z.literal("item-added"),
  item: z.custom<Item>(
    (value) => itemFields.safeParse(value).success,
    "is not an item of a conversation",
  ),
  // The model's own arguments of a call through `call_tool`.
  wrapped: text.optional(),
  // The tools in the result of a reading.
  loaded: z.array(text).readonly().optional(),
});

const saved = z.object({
  version: z.literal(1),
  events: z.array(
    z.discriminatedUnion("type", [
      z.object({
        type: z.literal("visibility-set"),
        path,
        visibility: z.enum(["full", "summary"]),
        by: z.enum(["model", "call", "choice", "caller", "history"]),
        timestamp: timestamp.optional(),
      }),
      toolsInjected,
      threadStarted,
      itemAdded,
    ]),
  ),
});
