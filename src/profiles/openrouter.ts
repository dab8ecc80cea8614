import { absent, extendProfile } from "./extend.ts";
import { genericChat } from "./generic.ts";

/**
 * OpenRouter, whichever model it leads to. From the request types of
 * OpenRouterTeam/typescript-sdk and openrouter.ai/docs (server tools, reasoning
 * tokens). Read 2026-11.
 *
 * Its web search works with every model. Results may hold images, but not every provider takes them, so they follow. Its own tool search is in beta, under that name. Inferred: the number of tools.
 */
export const openrouter = extendProfile(genericChat, {
  name: "openrouter",
  families: ["*/*"],
  defaultModel: "openrouter/auto",
  tools: {
    kinds: { web_search: "native" },
    builtins: {
      web_search: {
        type: "openrouter:web_search",
        parameters: {
          search_context_size: { $from: "search_context_size" },
          allowed_domains: { $from: "filters.allowed_domains" },
          user_location: { $from: "user_location" },
        },
      },
    },
    schema: { anyRoot: false },
  },
  params: {
    ...absent("n store safetyIdentifier cacheRetention audio webSearch"),
    maxTokens: "max_completion_tokens",
  },
  reasoning: "reasoning_details",
  history: {
    roles: ["system", "developer", "user", "assistant"],
    media: ["image", "file", "audio"],
    ids: { chars: "\\x21-\\x7e", max: 40 },
  },
});
