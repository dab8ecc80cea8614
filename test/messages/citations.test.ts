import OpenAI from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { expect, it } from "vitest";
import { answerInResponses } from "../support/fake-model.ts";
import { answerWithBlocks } from "../support/fake-messages.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const url = "https://a.example/";
const citation = {
  type: "web_search_result_location",
  url,
  title: "A",
  cited_text: "rain",
  encrypted_index: "index",
};
const here = sharedGateway(({ body, path }) =>
  path.endsWith("/responses")
    ? answerInResponses(body, { text: "Yes." })
    : answerWithBlocks(body, [{ type: "text", text: "It rains.", citations: [citation] }]),
);
const client = (): OpenAI =>
  new OpenAI({ baseURL: `${here.served.url}/v1`, apiKey: "unused", maxRetries: 0 });
const lastSent = (): string => here.upstream.requests.at(-1)?.text ?? "";

it("a citation comes back from a chat client to the upstream that made it", async () => {
  const { completions } = client().chat;
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
  const { choices } = await completions.create({ model: "messages/m", messages });
  if (choices[0] !== undefined) messages.push(choices[0].message);
  messages.push({ role: "user", content: "And?" });
  await completions.create({ model: "messages/m", messages });
  expect(lastSent()).toContain(JSON.stringify(citation));
});

it.each([true, false])(
  "a citation comes back from a client of Responses to the upstream that made it, and to no other, streamed: %s",
  async (stream) => {
    const { responses } = client();
    const input: ResponseInputItem[] = [{ role: "user", content: "Hi" }];
    const asked = { model: "messages/m", input, store: false };
    const { output } = stream
      ? await responses.stream(asked).finalResponse()
      : await responses.create(asked);
    input.push(...(output as ResponseInputItem[]), { role: "user", content: "And?" });
    await responses.create(asked);
    expect(lastSent()).toContain(JSON.stringify(citation));
    // A tool that is repaired keeps the request from being forwarded as it stands.
    const tools = [{ type: "function", name: "f.g", parameters: null, strict: null }] as const;
    await responses.create({ ...asked, model: "responses/m", tools: [...tools] });
    expect(lastSent()).toContain(url);
    expect(lastSent()).not.toContain("encrypted_index");
  },
);
