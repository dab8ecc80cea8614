import type { Profile } from "../turn/profile.ts";
import { functionsOnly } from "./extend.ts";

/** How others declare a search of the web, in the form of the Messages API. */
const webSearch = {
  type: "web_search_20250305",
  name: "web_search",
  allowed_domains: { $from: "filters.allowed_domains" },
  user_location: { $from: "user_location" },
} as const;

/** The same of running code. */
const codeExecution = { type: "code_execution_20250825", name: "code_execution" } as const;

/** Tools of the OpenAI API in the form that Anthropic has of them. */
export const anthropicForms = {
  responses: { web_search: webSearch, code_interpreter: codeExecution },
  chat: { web_search: webSearch, code_interpreter: codeExecution },
} as const satisfies Profile["tools"]["foreign"];

/** Any server that speaks Messages, known no better: most run open models and no tools of their own. */
export const genericMessages: Profile = {
  name: "generic-messages",
  dialect: "messages",
  tools: {
    kinds: functionsOnly,
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
    schema: { anyRoot: false, strict: false },
  },
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
