import { absent, extendProfile } from "./extend.ts";
import { openChat } from "./generic.ts";

/**
 * Groq, for openai/gpt-oss-120b and -20b. From the request types of
 * groq/groq-python, which list unsupported fields, and vercel/ai#7860
 * (reasoning); the efforts and what its models see from console.groq.com and
 * models.dev. Read 2026-11.
 *
 * Some of its models search (`browser_search`), but not all: allow them
 * `kinds.web_search` with `builtins`. The Llamas do not think.
 */
export const groq = extendProfile(openChat, {
  name: "groq",
  provider: "groq",
  families: ["llama-*"],
  defaultModel: "openai/gpt-oss-120b",
  params: {
    ...absent("n logitBias logprobs presencePenalty frequencyPenalty"),
    maxTokens: "max_completion_tokens",
    serviceTier: "service_tier",
  },
  effort: {
    none: { as: "low", changed: true },
    minimal: { as: "low" },
    xhigh: { as: "high", changed: true },
    max: { as: "high", changed: true },
  },
  reasoning: "reasoning",
  history: { roles: ["system", "developer", "user", "assistant"], media: [] },
  models: [
    { match: ["llama*", "meta-llama/*"], params: { effort: null } },
    { match: "meta-llama/llama-4*", history: { media: ["image"] } },
    {
      match: "qwen/*",
      effort: {
        none: { as: "none", changed: false },
        medium: { as: "default" },
        high: { as: "default" },
        minimal: { as: "default", changed: true },
        xhigh: { as: "default" },
        max: { as: "default" },
        "*": { as: "default", changed: true },
      },
    },
  ],
});
