import type { DialectTraits } from "../../turn/dialect-traits.ts";
import { openAiParams } from "../shared/openai-form.ts";

/** The path below the base URL of an upstream, and below the gateway's. */
export const responsesRoute = "/responses";
export const responsesDoor = `/v1${responsesRoute}`;

/** The names that the Responses API has for the parts of a request, and what its answers hold. */
export const responsesTraits: DialectTraits = {
  conversation: "input",
  instructions: "instructions",
  toolChoice: "tool_choice",
  format: { path: "text.format" },
  params: {
    ...openAiParams,
    maxTokens: "max_output_tokens",
    maxCalls: "max_tool_calls",
    effort: "reasoning.effort",
    reasoningSummary: "reasoning.summary",
    verbosity: "text.verbosity",
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
