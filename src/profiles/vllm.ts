import { extendProfile, NO_LIMIT, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * vLLM, `http://HOST:8000/v1`. From its source, the chat_completion protocol
 * and chat_utils. Read 2026-11.
 *
 * The model's own chat template has the last word. Inferred: that it wants
 * system messages at the beginning, as many templates do; and `strict`, which
 * only some of its tool parsers heed.
 */
export const vllm = extendProfile(genericChat, {
  name: "vllm",
  tools: { max: NO_LIMIT, schema: { strict: false } },
  params: { ...openaiOnly, maxTokens: "max_completion_tokens", user: null },
  reasoning: "reasoning",
  history: { lateSystem: false, media: ["image", "audio"] },
});
