import type { DialectTraits } from "../../turn/dialect-traits.ts";
import { openAiParams } from "../shared/openai-form.ts";

/** The path below the base URL of an upstream, and below ours, which ends in `/v1`. */
export const chatRoute = "/chat/completions";
export const chatDoor = `/v1${chatRoute}`;

/** The names that Chat Completions has for the parts of a request, and what its answers hold. */
export const chatTraits: DialectTraits = {
  conversation: "messages",
  // Compatible servers in front of other dialects blame the field that those have.
  blamedAs: ["system"],
  toolChoice: "tool_choice",
  format: { path: "response_format", schemaGroup: "json_schema" },
  params: {
    ...openAiParams,
    maxTokens: "max_completion_tokens",
    n: "n",
    stop: "stop",
    seed: "seed",
    logitBias: "logit_bias",
    effort: "reasoning_effort",
    verbosity: "verbosity",
    modalities: "modalities",
    audio: "audio",
    prediction: "prediction",
    webSearch: "web_search_options",
  },
  // `logprobs` is a flag, which the reader of requests takes itself.
  olderParams: { maxTokens: "max_tokens", logprobs: "logprobs" },
  nestsTools: true,
  strictFunctions: false,
  builtinsAsFunctions: true,
  sealsReasoning: false,
  sealsInDetails: true,
  endsCalls: false,
  callsInMessage: true,
  choices: Infinity,
};
