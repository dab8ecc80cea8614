import { extendProfile, openaiOnly, switched } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

const on = { thinking: { type: "adaptive" } };

/**
 * MiniMax, for MiniMax-M3. From platform.minimax.io, OpenAI-compatible API, and
 * agentscope-java's MiniMax notes. Read 2026-11.
 *
 * A choice of tools is not documented, nor `strict`. Reasoning stands in the
 * text unless it is told to split it off. The M2 models see no images and
 * always think. Inferred: the JSON mode and the number of tools.
 */
export const minimax = extendProfile(genericChat, {
  name: "minimax",
  families: ["minimax-*"],
  defaultModel: "MiniMax-M3",
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
  effort: switched({ thinking: { type: "disabled" } }, on),
  fields: { reasoning_split: true },
  formats: ["text", "json"],
  reasoning: "reasoning_details",
  history: { media: ["image"] },
  models: [
    {
      match: "minimax-m2*",
      effort: { none: { fields: on, changed: true } },
      history: { media: [] },
    },
  ],
});
