import type { DialectTraits } from "../../turn/dialect-traits.ts";

/** The names that Gemini's API has for the parts of a request, and properties of its answers. */
export const geminiTraits: DialectTraits = {
  conversation: "contents",
  instructions: "systemInstruction",
  format: { path: "generationConfig.responseJsonSchema" },
  params: {
    maxTokens: "generationConfig.maxOutputTokens",
    temperature: "generationConfig.temperature",
    topP: "generationConfig.topP",
    topK: "generationConfig.topK",
    n: "generationConfig.candidateCount",
    stop: "generationConfig.stopSequences",
    seed: "generationConfig.seed",
    presencePenalty: "generationConfig.presencePenalty",
    frequencyPenalty: "generationConfig.frequencyPenalty",
    logprobs: "generationConfig.logprobs",
    effort: "generationConfig.thinkingConfig.thinkingLevel",
    thinkingBudget: "generationConfig.thinkingConfig.thinkingBudget",
    reasoningSummary: "generationConfig.thinkingConfig.includeThoughts",
    modalities: "generationConfig.responseModalities",
    serviceTier: "serviceTier",
    store: "store",
    cachedContent: "cachedContent",
  },
  nestsTools: false,
  strictFunctions: false,
  openStrict: true,
  builtinsAsFunctions: true,
  // Clients search the web by a separate request, and show its answer as the result.
  asksForHosted: true,
  sealsReasoning: true,
  ownsSignatures: true,
  endsCalls: true,
  sendsCallsLast: true,
  callsInMessage: false,
  choices: 8,
};
