import { describe, expect, it } from "vitest";
import { isTooLong } from "./upstream-error.ts";

describe("a refusal is about the length of the conversation", () => {
  it.each([
    ["Anthropic", "prompt is too long: 208310 tokens > 200000 maximum"],
    ["Anthropic", "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000"],
    ["Bedrock", "Input is too long for requested model."],
    ["Gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed."],
    ["llama.cpp", "the request exceeds the available context size, try increasing it"],
    [
      "Mistral",
      "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    ],
    ["OpenAI", "Your input exceeds the context window of this model."],
    ["vLLM", "This model's maximum context length is 8192 tokens. However, you requested 9000."],
  ])("in the words of %s: %s", (_, message) => {
    expect(isTooLong(message)).toBe(true);
  });
});

describe("a refusal is not about the length of the conversation", () => {
  it.each([
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
    "messages.0.content.1.image: image exceeds the maximum size of 5 MB",
    "Invalid 'tools': array too long. Expected an array with maximum length 128.",
    "Invalid 'tools[0].function.name': string too long.",
  ])("that says: %s", (message) => {
    expect(isTooLong(message)).toBe(false);
  });
});
