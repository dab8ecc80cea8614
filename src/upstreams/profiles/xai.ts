import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * xAI's Chat Completions, for grok-4.3 and later. From docs.x.ai through
 * modelparams.dev and vercel/ai's provider, and the refusals in
 * NativeTavern#83 and opencodex#5280. Read 2026-11.
 *
 * xAI calls this API legacy: its hosted tools are in Responses only. Inferred:
 * that past reasoning is taken, and the number of tools.
 */
export const xai = extendProfile(genericChat, {
  name: "xai",
  params: {
    ...openaiOnly,
    maxTokens: "max_completion_tokens",
    serviceTier: "service_tier",
    stop: null,
    logitBias: null,
    presencePenalty: null,
    frequencyPenalty: null,
  },
  history: { media: ["image"] },
});
