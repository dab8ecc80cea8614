import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import {
  backends,
  openGatewayOn,
  question,
  schemas,
  toolbox,
  toolNames,
  type Toolbox,
} from "./gateway.ts";
import { roundOf, wantedRound } from "./round.ts";

type Input = OpenAI.Responses.ResponseInputItem;
type Output = OpenAI.Responses.ResponseOutputItem;

const tools = toolNames.map((name): OpenAI.Responses.FunctionTool => ({
  type: "function",
  name,
  parameters: schemas[name],
  strict: true,
}));
const asked: Input = { role: "user", content: question };

/** What was said, and the results of its calls. */
const goneOn = (box: Toolbox, output: readonly Output[]): Input[] => [
  asked,
  ...(output as Input[]),
  ...output
    .filter((item) => item.type === "function_call")
    .map((call): Input => ({
      type: "function_call_output",
      call_id: call.call_id,
      output: box.run(call.name as never, JSON.parse(call.arguments)),
    })),
];

describe.each(backends)("openai's responses client, with %s behind the gateway", (back) => {
  it("makes a round with two calls", async () => {
    await using gateway = await openGatewayOn(back);
    const { responses } = gateway.client;
    const box = toolbox();
    const first = await responses.create({ model: "m", input: [asked], tools });
    expect(first.status).toBe("completed");
    expect(first.usage?.total_tokens).toBeGreaterThan(0);
    const input = goneOn(box, first.output);
    const second = await responses.create({ model: "m", input, tools });
    expect(roundOf(gateway, box, second.output_text)).toEqual(wantedRound(back));
  });

  it("makes the same round over streams", async () => {
    await using gateway = await openGatewayOn(back);
    const { responses } = gateway.client;
    const box = toolbox();
    const first = responses.stream({ model: "m", input: [asked], tools });
    const { output } = await first.finalResponse();
    const second = await responses.create({
      model: "m",
      input: goneOn(box, output),
      tools,
      stream: true,
    });
    let text = "";
    for await (const event of second)
      if (event.type === "response.output_text.delta") text += event.delta;
    expect(roundOf(gateway, box, text)).toEqual(wantedRound(back));
  });

  it("hears the events of a stream by name", async () => {
    await using gateway = await openGatewayOn(back);
    const fragments = new Map<string, string>();
    const said: string[] = [];
    const stream = gateway.client.responses
      .stream({ model: "m", input: [asked], tools })
      .on("event", (event) => void said.push(event.type))
      .on("response.function_call_arguments.delta", (event) => {
        fragments.set(event.item_id, event.snapshot);
      });
    const response = await stream.finalResponse();
    const calls = response.output.filter((item) => item.type === "function_call");
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(fragments.get(call.id ?? "")).toBe(call.arguments);
    expect(said[0]).toBe("response.created");
    expect(said.at(-1)).toBe("response.completed");
  });
});
