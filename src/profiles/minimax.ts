import { absent, extendProfile, switched } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

const on = { thinking: { type: "adaptive" } };

/**
 * MiniMax, for MiniMax-M3. From platform.minimax.io, OpenAI-compatible API, and
 * agentscope-java's MiniMax notes. Read 2026-11.
 *
 * A choice of tools is not documented, nor `strict`. Reasoning is in the text unless a field splits it off. The M2 models see no images and
 * always think. Inferred: the JSON mode and the number of tools.
 */
export const minimax = extendProfile(openChat, {
  name: "minimax",
  families: ["minimax-*"],
  defaultModel: "MiniMax-M3",
  tools: { choice: ["auto"], schema: { strict: false } },
  params: {
    ...absent(
      "effort n seed stop logitBias logprobs presencePenalty frequencyPenalty parallelCalls",
    ),
    maxTokens: "max_completion_tokens",
    user: "user_id",
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

/**
 * MiniMax in its Messages form, `https://api.minimax.io/anthropic/v1`. After
 * platform.minimax.io, Anthropic-compatible API. Not tried against it.
 *
 * It overlooks `top_k`, stop sequences and tiers, and takes text and calls only.
 */
export const minimaxMessages = messagesOf(minimax, {
  params: absent("topK stop"),
  history: { media: [] },
});
