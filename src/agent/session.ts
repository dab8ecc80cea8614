import { z } from "zod";
import { append } from "../turn/append.ts";
import type { Item } from "../turn/turn.ts";
import { Fault } from "../turn/fault.ts";

/** Whether a section is shown whole or by its summary. */
export type Visibility = "full" | "summary";

/** `model`: it read the section. `call`: it called a tool of it. `choice`: the caller forced such a tool. */
export type OpenedBy = "model" | "call" | "choice" | "caller" | "history";

/** Shows the section at a path whole or by its summary from now on. `dispatch` adds the fields that are left out. */
export type SetVisibilityOverride = {
  readonly type?: "visibility-set" | undefined;
  readonly path: string;
  readonly visibility: Visibility;
  /** `caller` unless given. */
  readonly by?: OpenedBy | undefined;
  /** Milliseconds since the epoch. */
  readonly timestamp?: number | undefined;
};

/** The same as the log has it. */
export type VisibilitySet = SetVisibilityOverride & {
  readonly type: "visibility-set";
  readonly by: OpenedBy;
};

/** Tools were added to a conversation under way. */
export type ToolsInjected = {
  readonly type: "tools-injected";
  readonly sectionKey: string;
  readonly toolNames: readonly string[];
  readonly timestamp: number;
  /** The call of a closed tool that opened the section; absent if the section was read. */
  readonly callId?: string | undefined;
};

/**
 * A conversation with a model begins, or begins anew with all that was said.
 * What is open at this point of the log is part of the prompt; what is opened
 * later stands in the results of calls, so that the prompt stays as it is.
 */
type ThreadStarted = {
  readonly type: "thread-started";
  readonly adapter: string;
  readonly strategy: string;
  /** Who says the prompt: `user` where nobody says anything else. */
  readonly role: "system" | "user";
  readonly timestamp: number;
};

/** Something was said or done in the conversation. */
export type ItemAdded = {
  readonly type: "item-added";
  readonly item: Item;
  /** Of a call that came through `call_tool`: what the model wrote, as it wrote it. */
  readonly wrapped?: string | undefined;
  /** Of the result of a reading: the tools of what it shows. */
  readonly loaded?: readonly string[] | undefined;
};

export type SessionEvent = VisibilitySet | ToolsInjected | ThreadStarted | ItemAdded;

export type Overrides = ReadonlyMap<string, Visibility>;

/** What prompts and tools may see of a session. */
export type SessionView = {
  readonly events: readonly SessionEvent[];
  readonly overrides: Overrides;
  readonly items: readonly Item[];
};

/** The state of visibility after some events: the last word on each path counts. */
export function overridesIn(events: readonly SessionEvent[]): Overrides {
  const overrides = new Map<string, Visibility>();
  for (const event of events)
    if (event.type === "visibility-set") overrides.set(event.path, event.visibility);
  return overrides;
}

/** What was said and done, in order. */
const itemsIn = (events: readonly SessionEvent[]): readonly ItemAdded[] =>
  events.filter((event) => event.type === "item-added");

export const threadIn = (events: readonly SessionEvent[]): ThreadStarted | undefined =>
  events.findLast((event) => event.type === "thread-started");

/** The state of visibility when the conversation began: what its prompt is written from. */
export function headOverridesIn(events: readonly SessionEvent[]): Overrides {
  const start = events.findLastIndex((event) => event.type === "thread-started");
  return overridesIn(start === -1 ? events : events.slice(0, start));
}

/** A conversation and what is open in it: a log that only grows. `JSON.stringify` saves it, `Session.from` resumes it. */
export class Session implements SessionView {
  readonly #events: SessionEvent[];

  constructor(events: readonly SessionEvent[] = []) {
    this.#events = [...events];
  }

  /** Takes what `JSON.parse` made of a saved session. Throws a Fault where that is none. */
  static from(saved: unknown): Session {
    return new Session(readEvents(saved));
  }

  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  get overrides(): Overrides {
    return overridesIn(this.#events);
  }

  get items(): readonly Item[] {
    return itemsIn(this.#events).map(({ item }) => item);
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
function readEvents(value: unknown): readonly SessionEvent[] {
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
