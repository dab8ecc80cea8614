import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * MiniMax, for MiniMax-M3. From platform.minimax.io, OpenAI-compatible API, and
 * agentscope-java's MiniMax notes. Read 2026-11.
 *
 * A choice of tools is not documented, nor `strict`. Reasoning goes back as
 * `reasoning_details` where it came so (`reasoning_split` in the request); else
 * it stands in the text and goes back with it. The M2 models see no images.
 * Inferred: the JSON mode and the number of tools.
 */
export const minimax = extendProfile(genericChat, {
  name: "minimax",
  tools: { choice: ["auto"], schema: { strict: false } },
  params: {
    ...openaiOnly,
    maxTokens: "max_completion_tokens",
    user: "user_id",
    effort: null,
    n: null,
    seed: null,
    stop: null,
    logitBias: null,
    logprobs: null,
    presencePenalty: null,
    frequencyPenalty: null,
    parallelCalls: null,
  },
  formats: ["text", "json"],
  reasoning: "reasoning_details",
  history: { media: ["image"] },
});
