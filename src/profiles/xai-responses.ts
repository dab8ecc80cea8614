import { extendProfile } from "./extend.ts";
import { genericResponses } from "./generic-responses.ts";
import { grokEfforts } from "./xai.ts";

/**
 * xAI's Responses API. The kinds it takes are those its refusal lists
 * (bifrost#5428); their fields, the choices and the encrypted reasoning are
 * from vercel/ai's provider. Read 2026-11.
 *
 * Inferred: the parameters it has none of. Its `shell` is not known to be
 * OpenAI's, so a function stands in.
 */
export const xaiResponses = extendProfile(genericResponses, {
  name: "xai-responses",
  provider: "x_ai",
  families: ["grok-*"],
  defaultModel: "grok-4.6",
  tools: {
    kinds: {
      function: "native",
      web_search: "native",
      file_search: "native",
      code_interpreter: "native",
      image_generation: "native",
      mcp: "native",
      computer_use: "ignore",
      "*": "degrade",
    },
    choice: ["auto", "none", "required", "function"],
    builtins: {
      web_search: { type: "web_search", allowed_domains: { $from: "filters.allowed_domains" } },
      code_interpreter: { type: "code_interpreter" },
    },
  },
  params: {
    // It keeps answers for 30 days, and goes on from one by its id.
    previousResponse: "previous_response_id",
    seed: "seed",
    verbosity: null,
    presencePenalty: null,
    frequencyPenalty: null,
    background: null,
    conversation: null,
    prompt: null,
  },
  ...grokEfforts,
});
