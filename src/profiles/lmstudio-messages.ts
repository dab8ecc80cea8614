import { extendProfile, NO_LIMIT } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * LM Studio in its Messages form, `http://127.0.0.1:1234/v1`. After its docs,
 * Anthropic-compatible endpoints, and lmstudio-bug-tracker#1399 (no system
 * messages among the others). Not tried against it.
 */
export const lmstudioMessages = extendProfile(genericMessages, {
  name: "lmstudio-messages",
  tools: { max: NO_LIMIT, choice: ["auto", "none", "required"] },
  params: { serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
