import { absent, extendProfile } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

const on = { thinking: { type: "enabled" } };

/**
 * DeepSeek, for deepseek-v4-pro and deepseek-flash, which think by default. From api-docs.deepseek.com (thinking mode and its efforts, tool calls,
 * models and pricing) and its recorded refusals in rig's test suite. That an
 * empty reasoning_content will do: experiential#890. Read 2026-11.
 *
 * While it thinks it refuses a forced choice, and it wants its reasoning back
 * with every call. `strict` is for the beta address only. Only deepseek-flash
 * sees images. Inferred: the number of tools.
 */
export const deepseek = extendProfile(openChat, {
  name: "deepseek",
  provider: "deepseek",
  families: ["deepseek-*"],
  defaultModel: "deepseek-v4-pro",
  tools: { choice: ["auto", "none"], schema: { strict: false } },
  params: {
    ...absent("n seed logitBias parallelCalls"),
    user: "user_id",
    safetyIdentifier: "user_id",
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

/**
 * DeepSeek in its Messages form, `https://api.deepseek.com/anthropic/v1`. After
 * api-docs.deepseek.com, Anthropic API, and farion1231/cc-switch#3222 (calls
 * without the thought before them are refused). Not tried against it.
 *
 * It overlooks budgets, `top_k` and the user's name, and sees neither images nor
 * documents. While it thinks it takes no forced choice.
 */
export const deepseekMessages = messagesOf(deepseek, {
  provider: "deepseek",
  tools: { choice: ["auto", "none"] },
  params: absent("topK user parallelCalls"),
  thinking: { forms: ["enabled", "disabled"], efforts: ["low", "medium", "high", "max"] },
  history: { media: [], reasoningWithCalls: " " },
});
