import { extendProfile, NO_LIMIT, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Ollama, `http://127.0.0.1:11434/v1`. From its source, openai/openai.go, and
 * docs/api/openai-compatibility. Read 2026-11.
 *
 * It overlooks what it does not know, `tool_choice` among it, and takes images
 * as data only. Whether a model calls tools or sees is the model's matter.
 */
export const ollama = extendProfile(genericChat, {
  name: "ollama",
  tools: { max: NO_LIMIT, choice: ["auto"], schema: { strict: false } },
  params: { ...openaiOnly, n: null, user: null, logitBias: null, parallelCalls: null },
  effort: { minimal: { as: "low" }, xhigh: { as: "max" } },
  reasoning: "reasoning",
  history: { media: ["image", "audio"] },
});
