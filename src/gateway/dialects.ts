import { chat } from "../dialects/chat/chat.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { responses } from "../dialects/responses/responses.ts";
import type { DialectName } from "../turn/turn.ts";

/** The dialects that doors and HTTP upstreams speak. */
export const dialects = { chat, responses } as const satisfies Record<string, Dialect>;

/** Whether who speaks so tells the end of each call. Upstreams that speak none of these do, by themselves. */
export const endsCalls = (name: DialectName): boolean =>
  Object.values(dialects).every((dialect) => dialect.name !== name || dialect.endsCalls);

/** How many choices an answer in a dialect has room for. */
export const choicesIn = (name: DialectName): number =>
  Object.values(dialects).find((dialect) => dialect.name === name)?.choices ?? 1;
