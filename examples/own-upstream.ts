/**
 * An upstream of your own: a model that no dialect reaches, such as one in this
 * process. Run it with `npm run example -- own-upstream`; it checks what it shows.
 */
import assert from "node:assert/strict";
// In a project of your own: from "patchbay".
import { createGateway, defineUpstream } from "../src/index.ts";

/** Answers a tool's result in words, and anything else with a call of the first tool. */
const oracle = defineUpstream({
  name: "oracle",
  // Clients see it in /v1/models.
  models: async () => ["v1"],
  async *answer(turn, { model }) {
    yield { type: "turn-start", model };
    const last = turn.items.at(-1);
    // Whatever kinds the client declared, its profile lets an upstream see functions.
    const tool = turn.tools.find((one) => one.type === "function");
    if (last?.type === "result" || tool === undefined) {
      yield { type: "text-delta", choice: 0, text: "It is so." };
      return;
    }
    const call = { choice: 0, call: 0 };
    yield { type: "call-start", ...call, id: "call_1", kind: "function", name: tool.name };
    yield { type: "call-delta", ...call, text: '{"sign":"bees"}' };
    // To return is to end the answer; to throw a Fault is to fail it.
  },
});

await using gateway = createGateway({ models: { "*": "oracle/v1" } }, { upstreams: [oracle] });

type Answer = {
  choices?: { message: { tool_calls: unknown } }[];
  output?: { content: { text: string }[] }[];
};

async function ask(path: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify({ model: "any", ...body }) };
  const response = await gateway.fetch(new Request(`http://gateway${path}`, init));
  return (await response.json()) as Answer;
}

const chat = await ask("/v1/chat/completions", {
  messages: [{ role: "user", content: "Is it?" }],
  tools: [{ type: "function", function: { name: "look" } }],
});
assert.deepEqual(chat.choices?.[0]?.message.tool_calls, [
  { id: "call_1", type: "function", function: { name: "look", arguments: '{"sign":"bees"}' } },
]);
const response = await ask("/v1/responses", { input: "Is it?" });
assert.equal(response.output?.[0]?.content[0]?.text, "It is so.");
console.log("own upstream: a call and a text, at both doors");
