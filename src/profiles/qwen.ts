import { absent, extendProfile, switched } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

const on = { enable_thinking: true };

/**
 * Qwen on DashScope in its compatible mode. From alibabacloud.com, Model
 * Studio (deep thinking), vercel/ai's Alibaba provider, models.dev (what its
 * models see, and which can only think), and the refusal of forced choices
 * while thinking, cloudwego/eino#994. Read 2026-11.
 *
 * It takes past reasoning and ignores it by default. The coder
 * and instruct models do not think, so that a choice can be forced. Inferred:
 * that, `user` and the number of tools.
 */
export const qwen = extendProfile(openChat, {
  name: "qwen",
  families: ["qwen*", "qwq*", "qvq*"],
  defaultModel: "qwen3.8-max",
  tools: { choice: ["auto", "none"] },
  params: absent("effort user logitBias frequencyPenalty"),
  effort: switched({ enable_thinking: false }, on),
  history: { media: [] },
  models: [
    { match: ["qwq*", "qvq*", "*-thinking*"], effort: { none: { fields: on, changed: true } } },
    {
      match: ["*coder*", "*-instruct*"],
      tools: { choice: ["auto", "none", "required", "function"] },
    },
    {
      match: ["*vl*", "qvq*", "qwen3.5-*", "qwen3.*-plus*", "qwen3.*-flash*"],
      history: { media: ["image"] },
    },
    { match: "*omni*", history: { media: ["image", "audio"] } },
  ],
});

/**
 * Qwen in its Messages form, `https://dashscope-intl.aliyuncs.com/apps/anthropic/v1`.
 * From Alibaba Cloud Model Studio, Claude Code. Not tried against it.
 *
 * Inferred: that formats and tiers are not taken.
 */
export const qwenMessages = messagesOf(qwen, {
  params: absent("user"),
});
