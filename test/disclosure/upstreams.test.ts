import { describe, expect, it } from "vitest";
import { answerInResponses } from "../support/fake-model.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { missing, openCodex } from "../codex-upstream/gateway.ts";
import { doors } from "./doors.ts";
import { someTools } from "./tools.ts";

const tools = someTools(60);
const MAX = 40;

/** What a model does with folded tools: reads the section, then calls one of its tools. */
const rounds = [
  { calls: [{ id: "call_read", name: "read_section", arguments: '{"key":"ticket_1"}' }] },
  {
    calls: [
      {
        id: "call_tool",
        name: "call_tool",
        arguments: JSON.stringify({ name: "ticket_create", arguments: { id: "T-1" } }),
      },
    ],
  },
  { text: "Created." },
] as const;

const namesIn = (body: Body): string[] => (body["tools"] as Body[]).map((tool) => tool["name"]);

describe.skipIf(missing)("tools folded for the real codex app-server", () => {
  it.each([true, false])("are opened and called in one turn (stream: %s)", async (stream) => {
    await using gateway = await openCodex(
      ({ body }, at) => answerInResponses(body, rounds[at] ?? { text: "Done." }),
      { capabilities: { tools: { max: MAX } } },
    );
    const talk = doors.responses(gateway.served);
    const first = await talk.ask("Open a ticket.", { tools, stream, mode: "wrap" });
    expect(first.calls).toMatchObject([{ name: "ticket_create", arguments: '{"id":"T-1"}' }]);
    const second = await talk.ask(["T-1 is open."], { tools, stream, mode: "wrap" });
    expect(second.text).toBe("Created.");
    for (const { body } of gateway.model.requests) {
      expect(namesIn(body).length).toBeLessThanOrEqual(MAX);
      expect(namesIn(body)).toEqual(expect.arrayContaining(["read_section", "call_tool"]));
    }
  });
});

describe("tools folded for a Messages upstream", () => {
  it.each([true, false])("are opened and called in one turn (stream: %s)", async (stream) => {
    await using upstream = await fakeUpstream(({ body }, at) =>
      answerInMessages(body, rounds[at] ?? { text: "Done." }),
    );
    const more = { capabilities: { tools: { max: MAX } } };
    await using served = await serve(onto("messages", upstream.url, more));
    const talk = doors.chat(served);
    const first = await talk.ask("Open a ticket.", { tools, stream, mode: "wrap" });
    expect(first.calls).toMatchObject([{ name: "ticket_create", arguments: '{"id":"T-1"}' }]);
    const second = await talk.ask(["T-1 is open."], { tools, stream, mode: "wrap" });
    expect(second.text).toBe("Created.");
    for (const { body } of upstream.requests) expect(namesIn(body).length).toBeLessThanOrEqual(MAX);
  });
});
