import { extendProfile, NO_LIMIT, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * LM Studio, `http://127.0.0.1:1234/v1`. From lmstudio-ai/docs, chat
 * completions and structured output, and lmstudio-bug-tracker#670 (choices
 * must be words) and #189 (no JSON mode). Read 2026-11.
 *
 * Inferred: that system messages belong at the beginning, as with most chat
 * templates, and that past reasoning is of no use to it.
 */
export const lmstudio = extendProfile(genericChat, {
  name: "lmstudio",
  tools: {
    max: NO_LIMIT,
    choice: ["auto", "none", "required"],
    schema: { strict: false },
  },
  params: {
    ...openaiOnly,
    effort: null,
    n: null,
    user: null,
    logprobs: null,
    parallelCalls: null,
  },
  formats: ["text", "schema"],
  reasoning: "none",
  history: { lateSystem: false, media: ["image"] },
});
