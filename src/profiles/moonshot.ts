import { absent, extendProfile, switched, ungraded } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

// Reasoning of earlier turns is ignored unless `keep` is set.
const kept = { thinking: { type: "enabled", keep: "all" } };
const off = { thinking: { type: "disabled" } };

/**
 * Moonshot, for kimi-k3 and the kimi-k2 models, which all think. From
 * platform.kimi.ai (thinking effort, thinking model) through modelparams.dev,
 * synaps-engine, agentscope-java and vercel/ai's provider; names and schemas
 * from kimi-cli#2531; choices from inspect_ai#5152; that reasoning must come
 * with calls, and a blank will do, from llmgateway#2093; `keep` from
 * oh-my-pi#1839. Read 2026-11.
 *
 * Only kimi-k3 can be made to call a tool and has an effort, with three steps; only kimi-k2.5 and -k2.6 can do without thinking. An effort and
 * `thinking` are refused together. The platform sets the sampling. Its web
 * search asks the client to echo, so it is none. Inferred: `empty`, and which
 * effort of kimi-k3 is nearest to which.
 */
export const moonshot = extendProfile(openChat, {
  name: "moonshot",
  provider: "moonshot_ai",
  families: ["kimi-*", "moonshot-*"],
  defaultModel: "kimi-k3",
  tools: {
    names: { first: "A-Za-z" },
    choice: ["auto", "none"],
    schema: { anyRoot: false, strict: false },
  },
  params: {
    ...absent(
      "effort temperature topP n seed logitBias presencePenalty frequencyPenalty parallelCalls",
    ),
    maxTokens: "max_completion_tokens",
    cacheKey: "prompt_cache_key",
    safetyIdentifier: "safety_identifier",
  },
  effort: ungraded,
  history: { media: ["image"], empty: false, reasoningWithCalls: " " },
  models: [
    {
      match: "kimi-k3*",
      tools: { choice: ["auto", "none", "required"] },
      params: { effort: "reasoning_effort" },
      effort: {
        none: { as: "low", changed: true },
        minimal: { as: "low" },
        medium: { as: "high" },
        xhigh: { as: "max" },
        "*": { changed: false },
      },
    },
    { match: "kimi-k2.5*", effort: switched(off, { thinking: { type: "enabled" } }) },
    { match: "kimi-k2.6*", effort: switched(off, kept), fields: kept },
  ],
});

/**
 * Moonshot in its Messages form, `https://api.moonshot.ai/anthropic/v1`, for the
 * kimi-k models. After platform.moonshot.ai, use in Claude Code. Not tried against it.
 *
 * Inferred: that it takes images as bytes only in messages, and no format.
 */
export const moonshotMessages = messagesOf(moonshot, {
  params: absent("topK user"),
});
