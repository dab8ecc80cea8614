import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * DeepSeek, for deepseek-v4-pro and deepseek-flash, which think unless told
 * not to. From api-docs.deepseek.com (thinking mode, tool calls, models and
 * pricing) and its recorded refusals in rig's test suite. Read 2026-11.
 *
 * While it thinks it refuses a forced choice, and it wants its reasoning back
 * with every call. `strict` is for the beta address only. Only deepseek-flash
 * sees images: allow it `history.media`. Inferred: the number of tools.
 */
export const deepseek = extendProfile(genericChat, {
  name: "deepseek",
  tools: { choice: ["auto", "none"], schema: { strict: false } },
  params: {
    ...openaiOnly,
    user: "user_id",
    safetyIdentifier: "user_id",
    n: null,
    seed: null,
    logitBias: null,
    parallelCalls: null,
  },
  formats: ["text", "json"],
  history: { media: [] },
});
