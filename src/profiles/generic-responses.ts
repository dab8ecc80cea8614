import type { Profile } from "../turn/profile.ts";

/** Any server that speaks Responses: taken at its word that it knows the kinds of that API. */
export const genericResponses: Profile = {
  name: "generic-responses",
  dialect: "responses",
  tools: {
    kinds: { "*": "native" },
    namespaces: true,
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
    foreign: {
      messages: {
        web_search: {
          type: "web_search",
          filters: { allowed_domains: { $from: "allowed_domains" } },
          user_location: { $from: "user_location" },
        },
        code_execution: { type: "code_interpreter", container: { type: "auto" } },
      },
    },
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "items",
  streamUsage: false,
};
