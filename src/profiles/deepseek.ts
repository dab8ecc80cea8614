import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

const on = { thinking: { type: "enabled" } };

/**
 * DeepSeek, for deepseek-v4-pro and deepseek-flash, which think unless told
 * not to. From api-docs.deepseek.com (thinking mode and its efforts, tool calls,
 * models and pricing) and its recorded refusals in rig's test suite. That an
 * empty reasoning_content will do: experiential#890. Read 2026-11.
 *
 * While it thinks it refuses a forced choice, and it wants its reasoning back
 * with every call. `strict` is for the beta address only. Only deepseek-flash
 * sees images. Inferred: the number of tools.
 */
export const deepseek = extendProfile(genericChat, {
  name: "deepseek",
  provider: "deepseek",
  families: ["deepseek-*"],
  defaultModel: "deepseek-v4-pro",
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
  effort: {
    none: { as: null, fields: { thinking: { type: "disabled" } } },
    minimal: { as: "low", fields: on },
    medium: { as: "high", fields: on },
    xhigh: { as: "high", fields: on, changed: true },
    ultra: { as: "max", fields: on },
    "*": { fields: on },
  },
  formats: ["text", "json"],
  history: { media: [], reasoningWithCalls: "" },
  models: [{ match: "deepseek-flash*", history: { media: ["image"] } }],
});
