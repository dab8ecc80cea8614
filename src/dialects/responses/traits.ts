import type { DialectTraits } from "../../turn/dialect-traits.ts";

/** The path below the base URL of an upstream, and below the gateway's. */
export const responsesRoute = "/responses";
export const responsesDoor = `/v1${responsesRoute}`;

/** The names that the Responses API has for the parts of a request, and what its answers hold. */
export const responsesTraits: DialectTraits = {
  conversation: "input",
  instructions: "instructions",
  format: { path: "text.format" },
  params: {
    maxTokens: "max_output_tokens",
    temperature: "temperature",
    topP: "top_p",
    presencePenalty: "presence_penalty",
    frequencyPenalty: "frequency_penalty",
    logprobs: "top_logprobs",
    parallelCalls: "parallel_tool_calls",
    maxCalls: "max_tool_calls",
    effort: "reasoning.effort",
    reasoningSummary: "reasoning.summary",
    verbosity: "text.verbosity",
    serviceTier: "service_tier",
    store: "store",
    metadata: "metadata",
    user: "user",
    safetyIdentifier: "safety_identifier",
    cacheKey: "prompt_cache_key",
    cacheRetention: "prompt_cache_retention",
    include: "include",
    truncation: "truncation",
    previousResponse: "previous_response_id",
    conversation: "conversation",
    background: "background",
    prompt: "prompt",
  },
  nestsTools: false,
  strictFunctions: true,
  builtinsAsFunctions: false,
  sealsReasoning: true,
  endsCalls: true,
  callsInMessage: false,
  choices: 1,
};
