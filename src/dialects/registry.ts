/** The registry of dialects, and the only way to them for other rooms. */

import type { DialectName, Fields } from "../turn/turn.ts";
import { chat } from "./chat/chat.ts";
import type { Dialect, DoorDialect, UpstreamDialect } from "./dialect.ts";
import { gemini } from "./gemini/gemini.ts";
import { messages } from "./messages/messages.ts";
import { responses } from "./responses/responses.ts";
import { clientToolSearch } from "./responses/tools.ts";

/** The dialects that a gateway serves, as doors and as upstreams. */
export type DialectRegistry = {
  readonly all: readonly Dialect[];
  get(name: DialectName): Dialect | undefined;
  /** The dialects that clients may speak. */
  readonly doors: readonly DoorEntry[];
  /** Finds the dialect of a request body, for paths that take any. */
  doorFor(body: Fields): DoorDialect;
  /** The dialects that HTTP upstreams may speak. */
  readonly upstreams: readonly UpstreamEntry[];
};

export type DoorEntry = Dialect & { readonly door: DoorDialect };
export type UpstreamEntry = Dialect & { readonly upstream: UpstreamDialect };

const builtin = [chat, responses, messages, gemini] as const;

/** Names that editors complete in a configuration; users of the library may add others. */
export type BuiltinDialectName = (typeof builtin)[number]["name"];

/** The built-in dialects and more. A dialect replaces an earlier one of the same name. */
export function dialectRegistry(more: readonly Dialect[] = []): DialectRegistry {
  const named = new Map<DialectName, Dialect>();
  for (const dialect of [...builtin, ...more]) named.set(dialect.name, dialect);
  const all = [...named.values()];
  const doors = all.filter((one): one is DoorEntry => one.door !== undefined);
  return {
    all,
    get: (name) => named.get(name),
    doors,
    // More than one dialect has `messages`; the last that claims a body is the most specific. A body
    // that none claims is read as Responses, whose faults name the paths of the others.
    doorFor: (body) => doors.findLast(({ door }) => door.isRequest(body))?.door ?? responses.door,
    upstreams: all.filter((one): one is UpstreamEntry => one.upstream !== undefined),
  };
}

export const builtinDialects: DialectRegistry = dialectRegistry();

/** The dialect whose parameters and items an upstream with a separate protocol takes. */
export const standIns = { codex: responses, scripted: chat, agent: responses } as const;

/** The form of a search for tools that the client runs, for code that serves every dialect. */
export const toolSearch = clientToolSearch;
