import { chat } from "../dialects/chat/chat.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { responses } from "../dialects/responses/responses.ts";

/** The dialects that doors and HTTP upstreams speak. */
export const dialects = { chat, responses } as const satisfies Record<string, Dialect>;
