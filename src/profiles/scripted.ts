import type { Profile } from "../turn/profile.ts";
import { absent, NO_LIMIT } from "./extend.ts";
import { genericChat } from "./generic.ts";

/** A script can say anything, so nothing has to be changed for it. */
export const scripted: Profile = {
  name: "scripted",
  dialect: "scripted",
  tools: {
    kinds: { "*": "native" },
    namespaces: true,
    max: NO_LIMIT,
    names: { chars: "\\s\\S", max: NO_LIMIT },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: false,
  },
  // Names for parameters that the chat dialect lacks: a script accepts every parameter.
  params: {
    maxCalls: "max_tool_calls",
    reasoningSummary: "reasoning.summary",
    include: "include",
    truncation: "truncation",
  },
  formats: ["text", "json", "schema"],
  reasoning: "items",
  streamUsage: true,
};

/** The embedded model: it calls what the client runs, and can search or draw nothing itself. */
export const demo: Profile = {
  ...scripted,
  name: "demo",
  tools: {
    ...scripted.tools,
    kinds: { ...genericChat.tools.kinds, custom: "native" },
    names: genericChat.tools.names,
  },
  params: { ...scripted.params, ...absent("logprobs audio webSearch") },
};
