import { extendProfile } from "./extend.ts";
import { openai } from "./openai.ts";

/**
 * Azure OpenAI, `https://NAME.openai.azure.com/openai/v1`: the models and rules
 * of OpenAI under deployments of one's own. From learn.microsoft.com, v1 API,
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
