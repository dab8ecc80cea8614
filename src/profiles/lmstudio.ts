import { absent, extendProfile, NO_LIMIT } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

/**
 * LM Studio, `http://127.0.0.1:1234/v1`. From lmstudio-ai/docs, chat
 * completions and structured output, and lmstudio-bug-tracker#670 (choices
 * must be words) and #189 (no JSON mode). Read 2026-11.
 *
 * Inferred: that system messages belong at the beginning, as with most chat
 * templates, and that past reasoning is of no use to it.
 */
export const lmstudio = extendProfile(openChat, {
  name: "lmstudio",
  tools: {
    max: NO_LIMIT,
    choice: ["auto", "none", "required"],
    schema: { strict: false },
  },
  params: absent("effort n user logprobs parallelCalls"),
  formats: ["text", "schema"],
  reasoning: "none",
  history: { lateSystem: false, media: ["image"] },
});

/**
 * LM Studio in its Messages form, `http://127.0.0.1:1234/v1`. After its docs,
 * Anthropic-compatible endpoints, and lmstudio-bug-tracker#1399 (no system
 * messages among the others). Not tried against it.
 */
export const lmstudioMessages = messagesOf(lmstudio, {
  tools: { max: NO_LIMIT, choice: ["auto", "none", "required"] },
  params: absent("user"),
});
