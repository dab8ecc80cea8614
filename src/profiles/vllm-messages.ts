import { extendProfile, NO_LIMIT } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * vLLM in its Messages form, `http://HOST:8000/v1`. After its source,
 * entrypoints/anthropic, and vllm#44000 (no system messages among the others).
 * Not tried against it.
 *
 * Thinking is set by the template of the model, not by the request.
 */
export const vllmMessages = extendProfile(genericMessages, {
  name: "vllm-messages",
  tools: { max: NO_LIMIT },
  params: { serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: [], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
