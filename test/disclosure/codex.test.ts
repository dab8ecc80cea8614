import { describe, expect, it } from "vitest";
import { codexFolder, exec, mcpServer, missing } from "../codex/codex.ts";
import { answerInChat, type FakeAnswer } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

const withServer = mcpServer("corp", new URL("./mcp-server.ts", import.meta.url));

const LIMIT = 32;
const call = (name: string, input: unknown): FakeAnswer => ({
  calls: [{ id: `call_${name}`, name, arguments: JSON.stringify(input) }],
});

const namesOf = ({ body }: ReceivedRequest): string[] =>
  ((body["tools"] ?? []) as Body[]).map((tool) => tool["function"].name as string);

/** Lets Codex work with a chat model that takes 32 tools. */
async function play(model: string, says: readonly FakeAnswer[], mode: string) {
  await using upstream = await fakeUpstream(({ body }, at) =>
    answerInChat(body, says[at] ?? { text: "Done." }),
  );
  const more = { capabilities: { tools: { max: LIMIT } } };
  const config = { ...onto("chat", upstream.url, more), tools: { disclosure: mode as "fit" } };
  await using served = await serve(config);
  await using here = await codexFolder({ url: served.url, model, more: withServer });
  expect(await exec(here, "Do it.")).toEqual({ code: 0, said: "Done." });
  for (const request of upstream.requests)
    expect(namesOf(request).length).toBeLessThanOrEqual(LIMIT);
  return { heard: upstream.requests, turns: served.turns() };
}

describe.skipIf(missing)("codex exec with an MCP server of 60 tools", () => {
  it("has them folded where it sends them all, and runs the one that is called", async () => {
    const { heard, turns } = await play(
      "some-model",
      [
        call("read_section", { key: "corp_ticket_1" }),
        call("call_tool", { name: "ticket_create", arguments: { id: "T-1" } }),
        { text: "Done." },
      ],
      "fit",
    );
    expect(namesOf(heard[0] as ReceivedRequest)).toEqual(
      expect.arrayContaining(["read_section", "call_tool"]),
    );
    expect(heard).toHaveLength(3);
    expect(JSON.stringify(heard[2]?.body["messages"])).toContain(
      String.raw`ticket_create was run with {\"id\":\"T-1\"}`,
    );
    expect(turns[0]).toMatchObject({
      rounds: 2,
      disclosure: { strategy: "wrap", openings: 1, hiddenRounds: 1 },
    });
    // The reading stands where it stood when Codex sends the conversation again.
    const [before, after] = [heard[1], heard[2]].map(
      (request) => request?.body["messages"] as Body[],
    );
    expect(after?.slice(0, before?.length)).toEqual(before);
  });

  it("is left to search for them where it does so itself", async () => {
    const { heard, turns } = await play(
      "gpt-5.5",
      [
        call("tool_search", { query: "create a ticket", limit: 4 }),
        call("mcp__corp__ticket_create", { id: "T-1" }),
        { text: "Done." },
      ],
      "auto",
    );
    expect(namesOf(heard[0] as ReceivedRequest)).not.toContain("read_section");
    expect(namesOf(heard[1] as ReceivedRequest)).toContain("mcp__corp__ticket_create");
    expect(JSON.stringify(heard[2]?.body["messages"])).toContain("ticket_create was run with");
    expect(turns.every(({ disclosure }) => disclosure === undefined)).toBe(true);
  });
});
