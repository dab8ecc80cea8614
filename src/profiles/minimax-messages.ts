import { extendProfile } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * MiniMax in its Messages form, `https://api.minimax.io/anthropic/v1`. After
 * platform.minimax.io, Anthropic-compatible API. Not tried against it.
 *
 * It overlooks `top_k`, stop sequences and tiers, and takes text and calls only.
 */
export const minimaxMessages = extendProfile(genericMessages, {
  name: "minimax-messages",
  families: ["minimax-*"],
  defaultModel: "MiniMax-M3",
  params: { topK: null, stop: null, serviceTier: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: [], resultMedia: [] },
});
