import { extendProfile, NO_LIMIT } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * Ollama in its Messages form, `http://127.0.0.1:11434/v1`. After its docs,
 * Anthropic compatibility, and ollama#16372 (no system messages among the
 * others). Not tried against it.
 *
 * It has no choice of tools, no formats and no caches, and takes images as bytes.
 */
export const ollamaMessages = extendProfile(genericMessages, {
  name: "ollama-messages",
  tools: { max: NO_LIMIT, choice: ["auto"], cached: false },
  params: { serviceTier: null, user: null, parallelCalls: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: ["image"] },
});
