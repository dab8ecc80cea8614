import { absent, extendProfile, NO_LIMIT } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

/**
 * Ollama, `http://127.0.0.1:11434/v1`. From its source, openai/openai.go, and
 * docs/api/openai-compatibility. Read 2026-11.
 *
 * It overlooks what it does not know, `tool_choice` among it, and takes images
 * as data only. Whether a model calls tools or sees is the model's matter.
 */
export const ollama = extendProfile(openChat, {
  name: "ollama",
  tools: { max: NO_LIMIT, choice: ["auto"], schema: { strict: false } },
  params: absent("n user logitBias parallelCalls"),
  effort: { minimal: { as: "low" }, xhigh: { as: "max" } },
  reasoning: "reasoning",
  history: { media: ["image", "audio"] },
});

/**
 * Ollama in its Messages form, `http://127.0.0.1:11434/v1`. After its docs,
 * Anthropic compatibility, and ollama#16372 (no system messages among the
 * others). Not tried against it.
 *
 * It has no choice of tools, no formats and no caches, and takes images as bytes.
 */
export const ollamaMessages = messagesOf(ollama, {
  tools: { max: NO_LIMIT, choice: ["auto"], cached: false },
  params: absent("user parallelCalls"),
  history: { resultMedia: ["image"] },
});
