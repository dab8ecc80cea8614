import { extendProfile } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * DeepSeek in its Messages form, `https://api.deepseek.com/anthropic/v1`. After
 * api-docs.deepseek.com, Anthropic API, and farion1231/cc-switch#3222 (calls
 * without the thought before them are refused). Not tried against it.
 *
 * It overlooks budgets, `top_k` and who asks, and sees neither images nor
 * documents. While it thinks it takes no forced choice.
 */
export const deepseekMessages = extendProfile(genericMessages, {
  name: "deepseek-messages",
  provider: "deepseek",
  families: ["deepseek-*"],
  defaultModel: "deepseek-v4-pro",
  tools: { choice: ["auto", "none"] },
  params: { topK: null, user: null, serviceTier: null, parallelCalls: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: ["low", "medium", "high", "max"] },
  history: { media: [], resultMedia: [], reasoningWithCalls: " " },
});
