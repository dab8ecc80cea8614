import { extendProfile } from "./extend.ts";
import { openaiResponses } from "./openai-responses.ts";

/**
 * Azure's Responses API. It has OpenAI's hosted tools, web search and tool
 * search among them: learn.microsoft.com, web search and tool search with the
 * Responses API. Read 2026-11. Inferred: that it has the other kinds too.
 */
export const azureResponses = extendProfile(openaiResponses, {
  name: "azure-responses",
  provider: "azure.ai.openai",
  defaultModel: null,
});
