import { extendProfile, openaiFamilies } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

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
