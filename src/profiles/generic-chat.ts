import type { Profile } from "../turn/profile.ts";
import { functionsOnly } from "./extend.ts";

/** Any server that speaks Chat Completions, known no better. */
export const genericChat: Profile = {
  name: "generic-chat",
  dialect: "chat",
  tools: {
    kinds: functionsOnly,
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
  },
  // Compatible servers know the older word; few know the newer one.
  params: { maxTokens: "max_tokens" },
  formats: ["text", "json", "schema"],
  reasoning: "reasoning_content",
  streamUsage: true,
  // The strictest of them refuse a conversation for any of these.
  history: { paired: true, roles: ["system", "user", "assistant"], resultMedia: [] },
};
