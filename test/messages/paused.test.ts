import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { strictMessages, type SaidBlock } from "../support/strict-messages/upstream.ts";

const search = (at: number): SaidBlock[] => [
  { type: "thinking", thinking: `Step ${at}.` },
  { type: "server_tool_use", id: `srvtoolu_${at}`, name: "web_search", input: { query: "q" } },
  { type: "web_search_tool_result", tool_use_id: `srvtoolu_${at}`, content: [] },
];

/** Pauses so many times, then answers. */
async function pausing(times: number): Promise<FakeUpstream> {
  const strict = strictMessages();
  return fakeUpstream(({ body }, index) =>
    index < times
      ? strict.answer(
          body,
          () => [{ type: "text", text: `${index}.` }, ...search(index)],
          "pause_turn",
        )
      : strict.answer(body, () => [{ type: "text", text: "Done." }]),
  );
}

const model = "claude-opus-5-5";
const input = [{ role: "user" as const, content: "Look it up." }];
const tools = [{ type: "web_search" as const }];

describe.each([true, false])("an answer that the provider pauses, streamed: %s", (stream) => {
  async function ask(times: number): Promise<{ response: Body; sent: Body[] }> {
    await using upstream = await pausing(times);
    await using served = await serve(onto("messages", upstream.url, { profile: "anthropic" }));
    const { responses } = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "k", maxRetries: 0 });
    const response = stream
      ? await responses.stream({ model, input, tools }).finalResponse()
      : await responses.create({ model, input, tools });
    return {
      response: response as unknown as Body,
      sent: upstream.requests.map(({ body }) => body),
    };
  }

  it("is taken up again as it is, with nothing behind it", async () => {
    const { response, sent } = await ask(2);
    expect(response).toMatchObject({ status: "completed", output_text: "0.1.Done." });
    expect(response["usage"]).toMatchObject({ input_tokens: 33, output_tokens: 21 });
    expect(sent).toHaveLength(3);
    const [first, second, third] = sent.map(({ messages }) => messages as Body[]);
    expect(second?.slice(0, -1)).toEqual(first);
    expect(second?.at(-1)).toMatchObject({
      role: "assistant",
      content: [{ type: "text" }, {}, {}, {}],
    });
    expect(third?.at(-1)?.["content"].slice(0, 4)).toEqual(second?.at(-1)?.["content"]);
    expect(third?.at(-1)?.["content"]).toHaveLength(8);
  });

  it("ends as one that was cut short if that goes on for ever", async () => {
    const { response, sent } = await ask(99);
    expect(sent).toHaveLength(6);
    expect(response).toMatchObject({ status: "incomplete" });
  });
});
