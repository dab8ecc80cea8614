import { extendProfile } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * Z.ai and Zhipu in their Messages form, `https://api.z.ai/api/anthropic/v1` and
 * `https://open.bigmodel.cn/api/anthropic/v1`, for the GLM models. After
 * docs.z.ai, Claude Code. Not tried against it.
 *
 * Inferred: that a forced choice and formats are not taken, as in its chat.
 */
export const zhipuMessages = extendProfile(genericMessages, {
  name: "zhipu-messages",
  families: ["glm-*"],
  defaultModel: "glm-5.2",
  tools: { choice: ["auto", "none"] },
  params: { topK: null, serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
