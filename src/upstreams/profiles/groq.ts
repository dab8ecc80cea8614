import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Groq, for openai/gpt-oss-120b and -20b. From the request types of
 * groq/groq-python, which say what is not supported yet, and vercel/ai#7860
 * (reasoning). Read 2026-11.
 *
 * Some of its models search (`browser_search`) and some see images, but not
 * all: allow them `kinds.web_search` with `builtins`, or `history.media`.
 */
export const groq = extendProfile(genericChat, {
  name: "groq",
  params: {
    ...openaiOnly,
    maxTokens: "max_completion_tokens",
    serviceTier: "service_tier",
    n: null,
    logitBias: null,
    logprobs: null,
    presencePenalty: null,
    frequencyPenalty: null,
  },
  reasoning: "reasoning",
  history: { roles: ["system", "developer", "user", "assistant"], media: [] },
});
