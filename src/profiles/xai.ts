import type { Difference, Profile } from "../turn/profile.ts";
import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/** Efforts as docs.x.ai has them, in both of its APIs; the nearest are inferred. */
export const grokEfforts = {
  effort: {
    minimal: { as: "low" },
    xhigh: { as: "high", changed: true },
    max: { as: "high", changed: true },
  },
  models: [
    { match: "grok-4.5*", effort: { none: { as: "low", changed: true } } },
    {
      // These refuse an effort, whichever it is.
      match: [
        "grok-3",
        "grok-4",
        "grok-4-*",
        "grok-4.20-0309*",
        "grok-4.20-reasoning*",
        "grok-4.20-non-reasoning*",
        "grok-build*",
        "grok-code*",
      ],
      params: { effort: null },
    },
  ],
} as const satisfies Difference & Pick<Profile, "models">;

/**
 * xAI's Chat Completions, for grok-4.3 and later. From docs.x.ai through
 * modelparams.dev, models.dev and vercel/ai's provider, and the refusals in
 * NativeTavern#83 and opencodex#5280. Read 2026-11.
 *
 * xAI calls this API legacy: its hosted tools are in Responses only. Inferred:
 * that past reasoning is taken, and the number of tools.
 */
export const xai = extendProfile(genericChat, {
  name: "xai",
  provider: "x_ai",
  families: ["grok-*"],
  defaultModel: "grok-4.6",
  params: {
    ...openaiOnly,
    maxTokens: "max_completion_tokens",
    serviceTier: "service_tier",
    stop: null,
    logitBias: null,
    presencePenalty: null,
    frequencyPenalty: null,
  },
  ...grokEfforts,
  history: { media: ["image"] },
});
