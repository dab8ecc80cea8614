import type { Difference, Profile } from "../turn/profile.ts";
import { absent, extendProfile, kindRules } from "./extend.ts";
import { genericResponses, openChat } from "./generic.ts";

/** Efforts as docs.x.ai has them, in both of its APIs; the nearest are inferred. */
const grokEfforts = {
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
export const xai = extendProfile(openChat, {
  name: "xai",
  provider: "x_ai",
  families: ["grok-*"],
  defaultModel: "grok-4.6",
  params: {
    ...absent("stop logitBias presencePenalty frequencyPenalty"),
    maxTokens: "max_completion_tokens",
    serviceTier: "service_tier",
  },
  ...grokEfforts,
  history: { media: ["image"] },
});

/**
 * xAI's Responses API. The kinds it takes are those its refusal lists
 * (bifrost#5428); their fields, the choices and the encrypted reasoning are
 * from vercel/ai's provider. Read 2026-11.
 *
 * Inferred: the parameters that it does not have. Its `shell` is not known to be
 * OpenAI's, so a function is sent in its place.
 */
export const xaiResponses = extendProfile(genericResponses, {
  name: "xai-responses",
  provider: "x_ai",
  families: ["grok-*"],
  defaultModel: "grok-4.6",
  tools: {
    kinds: {
      ...kindRules(
        "native",
        "function web_search file_search code_interpreter image_generation mcp",
      ),
      computer_use: "ignore",
      "*": "degrade",
    },
    choice: ["auto", "none", "required", "function"],
    builtins: {
      web_search: { type: "web_search", allowed_domains: { $from: "filters.allowed_domains" } },
      code_interpreter: { type: "code_interpreter" },
    },
  },
  params: {
    ...absent("verbosity presencePenalty frequencyPenalty background conversation prompt"),
    // It keeps answers for 30 days, and continues one by its id.
    previousResponse: "previous_response_id",
    seed: "seed",
  },
  ...grokEfforts,
});
