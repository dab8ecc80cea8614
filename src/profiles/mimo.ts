import { absent, extendProfile, switched } from "./extend.ts";
import { openChat } from "./generic.ts";

/**
 * Xiaomi MiMo, for mimo-v2.5-pro. From platform.xiaomimimo.com (OpenAI API,
 * deep thinking, passing back reasoning_content, web search), modelparams.dev
 * and, on what its models see and hear, models.dev. Read 2026-11.
 *
 * Web search is a plugin to be switched on in its console; without it the
 * request is refused, so set `kinds: { web_search: ignore }` then. Reasoning
 * must come back with every call; inferred: that a blank will do. Inferred too:
 * the number of tools, and what it does not list.
 */
export const mimo = extendProfile(openChat, {
  name: "mimo",
  families: ["mimo-*"],
  defaultModel: "mimo-v2.5-pro",
  tools: {
    kinds: { web_search: "native" },
    choice: ["auto"],
    builtins: {
      web_search: {
        type: "web_search",
        max_keyword: 3,
        limit: { $from: "search_context_size", map: { low: 3, high: 10 }, else: 5 },
        user_location: { $from: "user_location" },
      },
    },
  },
  params: {
    ...absent("effort n seed logitBias logprobs parallelCalls"),
    maxTokens: "max_completion_tokens",
    user: "user_id",
  },
  effort: switched({ thinking: { type: "disabled" } }, { thinking: { type: "enabled" } }),
  formats: ["text", "json"],
  history: { media: [], reasoningWithCalls: " " },
  models: [
    {
      match: ["mimo-v2.5", "mimo-v2.6*", "mimo-*-omni"],
      history: { media: ["image", "audio"] },
    },
  ],
});
