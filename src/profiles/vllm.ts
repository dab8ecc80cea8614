import { absent, extendProfile, NO_LIMIT } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

/**
 * vLLM, `http://HOST:8000/v1`. From its source, the chat_completion protocol
 * and chat_utils. Read 2026-11.
 *
 * The model's own chat template has the last word. Inferred: that it wants
 * system messages at the beginning, as many templates do; and `strict`, which
 * only some of its tool parsers heed.
 */
export const vllm = extendProfile(openChat, {
  name: "vllm",
  tools: { max: NO_LIMIT, schema: { strict: false } },
  params: { maxTokens: "max_completion_tokens", user: null },
  reasoning: "reasoning",
  history: { lateSystem: false, media: ["image", "audio"] },
});

/**
 * vLLM in its Messages form, `http://HOST:8000/v1`. After its source,
 * entrypoints/anthropic, and vllm#44000 (no system messages among the others).
 * Not tried against it.
 *
 * Thinking is set by the template of the model, not by the request.
 */
export const vllmMessages = messagesOf(vllm, {
  tools: { max: NO_LIMIT },
  params: absent("user"),
  thinking: { forms: [], efforts: [] },
});
