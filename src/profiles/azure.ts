import { extendProfile } from "./extend.ts";
import { openai, openaiResponses } from "./openai.ts";

/**
 * Azure OpenAI, `https://NAME.openai.azure.com/openai/v1`: the models and rules
 * of OpenAI under the names of deployments. From learn.microsoft.com, v1 API,
 * and vercel/ai's Azure provider. Read 2026-11.
 *
 * Inferred: that its chat lags behind, so custom tools go as functions.
 */
export const azure = extendProfile(openai, {
  name: "azure",
  provider: "azure.ai.openai",
  defaultModel: null,
  tools: {
    kinds: { custom: "degrade" },
    choice: ["auto", "none", "required", "function"],
  },
});

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
