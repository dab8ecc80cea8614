import { extendProfile } from "./extend.ts";
import { genericMessages } from "./generic-messages.ts";

/**
 * Qwen in its Messages form, `https://dashscope-intl.aliyuncs.com/apps/anthropic/v1`.
 * From Alibaba Cloud Model Studio, Claude Code. Not tried against it.
 *
 * Inferred: that formats and tiers are not taken.
 */
export const qwenMessages = extendProfile(genericMessages, {
  name: "qwen-messages",
  families: ["qwen*", "qwq*", "qvq*"],
  defaultModel: "qwen3.8-max",
  params: { serviceTier: null, user: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});
