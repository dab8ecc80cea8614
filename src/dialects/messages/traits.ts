import type { DialectTraits } from "../../turn/dialect-traits.ts";

/** The path below the base URL of an upstream, and below the gateway's. */
export const messagesRoute = "/messages";
export const messagesDoor = `/v1${messagesRoute}`;

/** The names that the Messages API has for the parts of a request, and properties of its answers. */
export const messagesTraits: DialectTraits = {
  conversation: "messages",
  instructions: "system",
  toolChoice: "tool_choice",
  format: { path: "output_config.format" },
  params: {
    maxTokens: "max_tokens",
    temperature: "temperature",
    topP: "top_p",
    topK: "top_k",
    stop: "stop_sequences",
    parallelCalls: "tool_choice.disable_parallel_tool_use",
    effort: "output_config.effort",
    thinking: "thinking.type",
    thinkingBudget: "thinking.budget_tokens",
    reasoningSummary: "thinking.display",
    serviceTier: "service_tier",
    user: "metadata.user_id",
    thread: "thread",
    compaction: "compaction",
  },
  nestsTools: false,
  strictFunctions: false,
  openStrict: true,
  builtinsAsFunctions: true,
  // Clients search the web by a separate request, and show its answer as the result.
  asksForHosted: true,
  sealsReasoning: true,
  signsReasoning: true,
  ownsSignatures: true,
  prefills: true,
  endsCalls: true,
  callsInMessage: false,
  stoppedAt: (sequence) => ({ stop_reason: "stop_sequence", stop_sequence: sequence }),
  choices: 1,
};
