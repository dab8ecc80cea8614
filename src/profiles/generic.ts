import type { Difference, Profile } from "../turn/profile.ts";
import { extendProfile, functionsOnly, openaiOnly } from "./extend.ts";

const tools = {
  kinds: functionsOnly,
  max: 128,
  names: { chars: "A-Za-z0-9_-", max: 64 },
  choice: ["auto", "none", "required", "function"],
  parallel: true,
  declares: "turn",
  deferred: false,
  cached: true,
} as const satisfies Profile["tools"];

/** Any server that speaks Chat Completions. */
export const genericChat: Profile = {
  name: "generic-chat",
  dialect: "chat",
  tools,
  // Compatible servers take the older name; few take the newer one.
  params: { maxTokens: "max_tokens" },
  formats: ["text", "json", "schema"],
  reasoning: "reasoning_content",
  streamUsage: true,
  // The strictest of them refuse a conversation for any of these.
  history: { paired: true, roles: ["system", "user", "assistant"], resultMedia: [] },
};

/** Any server that is compatible with OpenAI's chat, without the parameters that only OpenAI has. */
export const openChat = extendProfile(genericChat, { params: openaiOnly });

/** Any server that speaks Responses. It is assumed to have all kinds of tools of that API. */
export const genericResponses: Profile = {
  name: "generic-responses",
  dialect: "responses",
  tools: {
    ...tools,
    kinds: { "*": "native" },
    namespaces: true,
    choice: ["auto", "none", "required", "function", "allowed"],
    foreign: {
      messages: {
        web_search: {
          type: "web_search",
          filters: { allowed_domains: { $from: "allowed_domains" } },
          user_location: { $from: "user_location" },
        },
        code_execution: { type: "code_interpreter", container: { type: "auto" } },
      },
      gemini: {
        web_search: { type: "web_search" },
        code_execution: { type: "code_interpreter", container: { type: "auto" } },
      },
    },
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "items",
  streamUsage: false,
};

/** The web search of other dialects in the form of the Messages API. */
const webSearch = {
  type: "web_search_20250305",
  name: "web_search",
  allowed_domains: { $from: "filters.allowed_domains" },
  user_location: { $from: "user_location" },
} as const;

/** The code interpreter of other dialects in that form. */
const codeExecution = { type: "code_execution_20250825", name: "code_execution" } as const;

/** Tools of other dialects in Anthropic's form. */
export const anthropicForms = {
  responses: { web_search: webSearch, code_interpreter: codeExecution },
  chat: { web_search: webSearch, code_interpreter: codeExecution },
  gemini: {
    web_search: webSearch,
    web_fetch: { type: "web_fetch_20250910", name: "web_fetch" },
    code_execution: codeExecution,
  },
} as const satisfies Profile["tools"]["foreign"];

/** Any server that speaks Messages: most run open models, and no tools. */
export const genericMessages: Profile = {
  name: "generic-messages",
  dialect: "messages",
  tools: { ...tools, schema: { anyRoot: false, strict: false } },
  params: { thread: null, compaction: null },
  formats: ["text", "schema"],
  reasoning: "thinking",
  streamUsage: false,
  // The strictest of them refuse a conversation for any of these.
  history: {
    paired: true,
    interleaved: true,
    roles: ["system", "user", "assistant"],
    lateSystem: false,
    reminderTag: "system-reminder",
    media: ["image", "file"],
    resultMedia: ["image"],
    systemMedia: [],
    empty: false,
    names: false,
    ids: { chars: "A-Za-z0-9_-", max: 64 },
    beforeCalls: "Continue.",
  },
};

/** The Messages API of a service for open models: it takes text, no tiers, and thinking on or off. */
export const openMessages = extendProfile(genericMessages, {
  params: { serviceTier: null },
  formats: ["text"],
  thinking: { forms: ["enabled", "disabled"], efforts: [] },
  history: { media: ["image"], resultMedia: [] },
});

/** The Messages form of a provider with a chat profile. */
export const messagesOf = (
  { name, families, defaultModel }: Profile,
  difference: Difference & Pick<Profile, "provider">,
): Profile =>
  extendProfile(openMessages, {
    name: `${name}-messages`,
    families,
    defaultModel,
    ...difference,
  });
