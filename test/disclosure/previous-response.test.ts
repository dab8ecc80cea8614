import { expect, it } from "vitest";
import { clientOf } from "../sdk/gateway.ts";
import { fakeUpstream } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { backs, type Back } from "./backs.ts";
import { inResponses, someTools } from "./tools.ts";

const native = backs.find(({ strategy }) => strategy === "native") as Back;

it.each([true, false])(
  "a client that goes on from an answer by its id goes on from the last round of it (stream: %s)",
  async (stream) => {
    const says = [
      { reads: ["ticket_1"] },
      { calls: [{ name: "ticket_create", section: "ticket_1", arguments: { id: "1" } }] },
      { text: "Done." },
    ];
    await using upstream = await fakeUpstream(({ body }, at) =>
      native.answer(body, says[at] ?? {}, at),
    );
    await using served = await serve(onto("responses", upstream.url, native.more));
    const client = clientOf(served);
    const tools = someTools(60).map(inResponses);
    const asking = { model: "m", tools, input: "Go." };
    const first = stream
      ? await client.responses.stream(asking).finalResponse()
      : await client.responses.create(asking);
    expect(first.id).not.toMatch(/^resp_\d$/);
    const [call] = first.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    const second = await client.responses.create({
      model: "m",
      tools,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call?.call_id ?? "", output: "Made." }],
    });
    expect(second.output_text).toBe("Done.");
    expect(upstream.requests.map(({ body }) => body["previous_response_id"])).toEqual([
      undefined,
      undefined,
      "resp_1",
    ]);
  },
);
