import { describe, expect, it } from "vitest";
import { chat } from "../../dialects/chat/chat.ts";
import { gemini } from "../../dialects/gemini/gemini.ts";
import { responses } from "../../dialects/responses/responses.ts";
import { planTools } from "../../tools/plan/plan.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields } from "../../turn/turn.ts";
import { genericChat } from "../../profiles/generic.ts";
import { genericResponses } from "../../profiles/generic.ts";
import { gemini as geminiProfile } from "../../profiles/gemini.ts";
import { clientPathOf } from "./client-fault.ts";

const asChat: Fields = {
  model: "m",
  messages: [
    { role: "system", content: "Be kind." },
    { role: "user", content: "Hi" },
  ],
  max_completion_tokens: 5,
  reasoning_effort: "low",
  tools: [
    { type: "web_search_preview" },
    { type: "function", function: { name: "f.g", parameters: { type: "object" } } },
  ],
  response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
};
const asResponses: Fields = {
  model: "m",
  instructions: "Be kind.",
  input: [{ role: "user", content: "Hi" }],
  max_output_tokens: 5,
  reasoning: { effort: "low" },
  tools: [
    { type: "web_search" },
    { type: "function", name: "f.g", parameters: { type: "object" } },
    { type: "custom", name: "c" },
  ],
  text: { format: { type: "json_schema", name: "n", schema: { type: "object" } } },
};

const asGemini: Fields = {
  model: "m",
  systemInstruction: { parts: [{ text: "Be kind." }] },
  contents: [{ role: "user", parts: [{ text: "Hi" }] }],
  generationConfig: {
    maxOutputTokens: 5,
    responseMimeType: "application/json",
    responseJsonSchema: { type: "object" },
  },
};

const dialects = { chat, responses, gemini };
const bodies = { chat: asChat, responses: asResponses, gemini: asGemini };

/** What a client is told that an upstream blames. */
const blamed = (
  door: keyof typeof dialects,
  said: string,
  profile: Profile,
  body: Fields = bodies[door],
): string | undefined => {
  const plan = planTools(dialects[door].door.readRequest(body), profile);
  const { traits } = dialects[profile.dialect as keyof typeof dialects];
  return clientPathOf(said, { plan, profile, traits });
};

describe("what an upstream blames", () => {
  it.each([
    ["messages[0].content", "instructions"],
    ["messages[1].content", "input"],
    ["messages.1.content", "input"],
    ["max_tokens", "max_output_tokens"],
    ["reasoning_effort", "reasoning.effort"],
    ["tools[0].function.name", "tools[1].name"],
    ["tools[0].function.parameters.type", "tools[1].parameters.type"],
    ["tools.[1].function.parameters", "tools[2]"],
    ["tools[7]", "tools"],
    ["response_format", "text.format"],
    ["response_format.json_schema.schema.type", "text.format.schema.type"],
    ["model", "model"],
    ["top_k", undefined],
    ["temperature", undefined],
  ])("has a client's own name: %s of a chat upstream is %s of a Responses client", (said, own) => {
    expect(blamed("responses", said, genericChat)).toBe(own);
  });

  it.each([
    ["input[0].content", "messages"],
    ["instructions", "messages"],
    ["max_output_tokens", "max_completion_tokens"],
    ["reasoning.effort", "reasoning_effort"],
    ["text.format", "response_format"],
    ["text.format.schema", "response_format.json_schema.schema"],
    ["text.format.type", "response_format.type"],
    ["text.verbosity", undefined],
  ])("has a client's own name: %s of a Responses upstream is %s of a chat client", (said, own) => {
    expect(blamed("chat", said, genericResponses)).toBe(own);
  });

  it.each([
    ["contents[1].parts[0].text", "messages"],
    ["system_instruction.parts[0]", "messages"],
    ["generation_config.max_output_tokens", "max_completion_tokens"],
    ["generationConfig.thinkingConfig.thinkingLevel", "reasoning_effort"],
    ["tools[0].function_declarations[0].name", "tools[1].function.name"],
    ["tools[0].functionDeclarations[7].name", "tools"],
    ["generation_config.response_json_schema", "response_format"],
    ["generation_config.top_k", undefined],
  ])("has a client's own name: %s of a Gemini upstream is %s of a chat client", (said, own) => {
    expect(blamed("chat", said, geminiProfile)).toBe(own);
  });

  it.each([
    ["messages[0].content", "systemInstruction"],
    ["messages[1].content", "contents"],
    ["max_tokens", "generationConfig.maxOutputTokens"],
    ["response_format.json_schema.schema", "generationConfig.responseJsonSchema"],
    ["temperature", undefined],
  ])("has a client's own name: %s of a chat upstream is %s of a Gemini client", (said, own) => {
    expect(blamed("gemini", said, genericChat)).toBe(own);
  });

  it("is left as it is where the upstream was sent the client's own request", () => {
    const body = { model: "m", messages: [{ role: "user", content: "Hi" }] };
    for (const said of ["messages.[0].content", "whatever"])
      expect(blamed("chat", said, genericChat, body)).toBe(said);
  });

  it("keeps its number where only something else was changed", () => {
    const body = { ...asChat, tools: undefined, response_format: undefined };
    expect(blamed("chat", "messages[1].content", genericChat, body)).toBe("messages[1].content");
    expect(blamed("chat", "max_tokens", genericChat, body)).toBe("max_completion_tokens");
  });
});
