import { extendProfile, NO_LIMIT, openaiFamilies } from "./extend.ts";
import { genericChat, genericResponses } from "./generic.ts";

/**
 * OpenAI's Chat Completions. From the types of the `openai` package 7.53 and
 * developers.openai.com, function calling; the limits (128 tools, ids of 40
 * characters, descriptions of 1024, a plain object at the top of a schema) from
 * the API's own refusals, as in vercel/ai#5171, zed#32946, sentry-mcp#106 and
 * open_deep_research#80. Read 2026-11.
 *
 * Inferred: which characters an id may hold. From gpt-5.4 on the API refuses
 * functions together with a reasoning effort; such requests belong to Responses.
 */
export const openai = extendProfile(genericChat, {
  name: "openai",
  provider: "openai",
  families: openaiFamilies,
  defaultModel: "gpt-5.5",
  tools: {
    kinds: { custom: "native" },
    choice: ["auto", "none", "required", "function", "allowed"],
    descriptions: 1024,
    schema: { anyRoot: false },
  },
  params: { maxTokens: "max_completion_tokens" },
  reasoning: "none",
  history: {
    roles: ["system", "developer", "user", "assistant"],
    media: ["image", "file", "audio"],
    ids: { chars: "\\x21-\\x7e", max: 40 },
  },
});

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
  // It keeps answers, and continues one by its id.
  params: { previousResponse: "previous_response_id" },
  // As @ai-sdk/openai 4.0 tells them apart.
  models: [
    { match: ["*gpt-5*", "*gpt-6*", "o1*", "o3*", "o4*"], reasons: true },
    { match: ["*gpt-5-chat*", "*gpt-6-chat*"], reasons: false },
  ],
  history: { ids: { chars: "\\x21-\\x7e", max: 64 } },
});
