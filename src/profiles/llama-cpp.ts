import { absent, extendProfile, NO_LIMIT } from "./extend.ts";
import { openMessages } from "./generic.ts";

/**
 * llama.cpp's server in its Messages form, `http://127.0.0.1:8080/v1`. After its
 * source, tools/server, and llama.cpp#22536 (images in results are lost). Not tried
 * against it.
 */
export const llamaCppMessages = extendProfile(openMessages, {
  name: "llama-cpp-messages",
  tools: { max: NO_LIMIT },
  params: absent("user"),
});
