import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Moonshot, for kimi-k3 and the kimi-k2 models, which all think. From
 * platform.kimi.ai through modelparams.dev, agentscope-java and vercel/ai's
 * provider; names and schemas from kimi-cli#2531; choices from
 * inspect_ai#5152. Read 2026-11.
 *
 * Only kimi-k3 can be made to call a tool (allow it `choice: required`) and has
 * an effort, of its own three steps. The platform sets the sampling. Its web
 * search asks the client to echo, so it is none. Inferred: `empty`.
 */
export const moonshot = extendProfile(genericChat, {
  name: "moonshot",
  tools: {
    names: { first: "A-Za-z" },
    choice: ["auto", "none"],
    schema: { anyRoot: false, strict: false },
  },
  params: {
    ...openaiOnly,
    maxTokens: "max_completion_tokens",
    cacheKey: "prompt_cache_key",
    safetyIdentifier: "safety_identifier",
    effort: null,
    temperature: null,
    topP: null,
    n: null,
    seed: null,
    logitBias: null,
    presencePenalty: null,
    frequencyPenalty: null,
    parallelCalls: null,
  },
  history: { media: ["image"], empty: false },
});
