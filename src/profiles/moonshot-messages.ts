import { extendProfile } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * Moonshot in its Messages form, `https://api.moonshot.ai/anthropic/v1`, for the
 * kimi-k models. After platform.moonshot.ai, use in Claude Code. Not tried against it.
 *
 * Inferred: that it takes images as bytes only in messages, and no format.
 */
export const moonshotMessages = extendProfile(genericMessages, {
  name: "moonshot-messages",
  families: ["kimi-*", "moonshot-*"],
  defaultModel: "kimi-k3",
  params: { topK: null, serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
