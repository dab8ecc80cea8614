import { extendProfile, NO_LIMIT, openaiFamilies } from "./extend.ts";
import { genericResponses } from "./generic-responses.ts";

/**
 * OpenAI's Responses API, where every kind of tool comes from. From the types
 * of the `openai` package 7.53 and developers.openai.com, tool search guide
 * (gpt-5.4 and later load deferred tools themselves); that a call's id has 64
 * characters at most from its refusal, as in 9router#393. Read 2026-11.
 *
 * Not documented: how many tools it takes, with namespaces and deferred ones
 * counted. So the API is left to say it.
 */
export const openaiResponses = extendProfile(genericResponses, {
  name: "openai-responses",
  provider: "openai",
  families: openaiFamilies,
  defaultModel: "gpt-5.5",
  countsTokens: true,
  tools: { max: NO_LIMIT, deferred: true, schema: { anyRoot: false } },
  // It keeps answers, and goes on from one by its id.
  params: { previousResponse: "previous_response_id" },
  // As @ai-sdk/openai 4.0 tells them apart.
  models: [
    { match: ["*gpt-5*", "*gpt-6*", "o1*", "o3*", "o4*"], reasons: true },
    { match: ["*gpt-5-chat*", "*gpt-6-chat*"], reasons: false },
  ],
  history: { ids: { chars: "\\x21-\\x7e", max: 64 } },
});
