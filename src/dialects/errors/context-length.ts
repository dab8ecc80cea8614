/** Refusals of a conversation that is longer than its model can read, however an upstream puts it. */

/** The code by which clients of the OpenAI API know such a refusal, and make the conversation shorter. */
export const CONTEXT_LENGTH = "context_length_exceeded";

/** Anthropic, Bedrock, Gemini, llama.cpp, Mistral, Ollama and vLLM each have words of their own. */
const words =
  /context[_ ](?:length|window|limit|size)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens|tokens?\b[^.]{0,80}\bexceeds? the (?:maximum|limit)/i;

/** No refusal says later than that what it is about. */
const LONGEST = 2000;

export const isTooLong = (message: string | undefined): boolean =>
  message !== undefined && words.test(message.slice(0, LONGEST));
