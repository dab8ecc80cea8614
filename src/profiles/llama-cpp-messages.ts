import { extendProfile, NO_LIMIT } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * llama.cpp's server in its Messages form, `http://127.0.0.1:8080/v1`. After its
 * source, tools/server, and llama.cpp#22536 (images in results are lost). Not tried
 * against it.
 */
export const llamaCppMessages = extendProfile(genericMessages, {
  name: "llama-cpp-messages",
  tools: { max: NO_LIMIT },
  params: { serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
