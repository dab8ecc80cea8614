import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Qwen on DashScope in its compatible mode. From alibabacloud.com, Model
 * Studio (deep thinking), vercel/ai's Alibaba provider, models.dev, and the
 * refusal of forced choices while thinking, cloudwego/eino#994. Read 2026-11.
 *
 * It takes past reasoning and, unless told otherwise, overlooks it. The plus
 * and vl models see images: allow them `history.media`. Inferred: `user` and
 * the number of tools.
 */
export const qwen = extendProfile(genericChat, {
  name: "qwen",
  tools: { choice: ["auto", "none"] },
  params: {
    ...openaiOnly,
    effort: null,
    user: null,
    logitBias: null,
    frequencyPenalty: null,
  },
  history: { media: [] },
});
