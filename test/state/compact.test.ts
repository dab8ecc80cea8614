import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, type Answer, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { compactionFaults } from "../support/open-responses.ts";

const SUMMARY = "The launch is on Tuesday. Support knows.";
const dialects = {
  chat: answerInChat,
  responses: answerInResponses,
  messages: answerInMessages,
} as const;

async function post(
  served: Pick<Served, "url">,
  path: string,
  body: unknown,
  key = "ann",
): Promise<{ readonly status: number; readonly body: Body; readonly headers: Headers }> {
  const response = await fetch(`${served.url}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Body };
}

const folder = mkdtempSync(join(tmpdir(), "patchbay-compact-"));
afterAll(() => rmSync(folder, { recursive: true }));

const conversation = {
  model: "m",
  instructions: "Be brief.",
  prompt_cache_key: "k",
  input: [
    { role: "user", content: "We launch on Tuesday." },
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "function_call", call_id: "call_1", name: "notify", arguments: '{"who":"support"}' },
    { type: "function_call_output", call_id: "call_1", output: "They know." },
    { role: "assistant", content: "Noted." },
  ],
};

describe.each(Object.entries(dialects))("compacting on a %s upstream", (dialect, answer) => {
  const openUpstream = (say: FakeAnswer) => fakeUpstream(({ body }): Answer => answer(body, say));
  const config = (url: string, path: string) => ({
    ...onto(dialect as keyof typeof dialects, url),
    server: {
      keys: [
        { name: "ann", key: "ann" },
        { name: "bob", key: "bob" },
      ],
    },
    store: { kind: "sqlite" as const, path },
  });

  it("keeps the user's words and seals a summary that any replica opens for its tenant", async () => {
    const path = join(folder, dialect, "store.db");
    await using upstream = await openUpstream({ text: SUMMARY });
    const compacted = await (async () => {
      await using served = await serve(config(upstream.url, path));
      return await post(served, "/responses/compact", conversation);
    })();
    expect(compacted.status).toBe(200);
    expect(compacted.body).toMatchObject({
      object: "response.compaction",
      output: [
        { type: "message", role: "user", content: [{ text: "We launch on Tuesday." }] },
        { type: "compaction" },
      ],
      usage: { total_tokens: 18 },
    });
    expect(compactionFaults(compacted.body)).toEqual([]);
    expect(JSON.stringify(compacted.body)).not.toContain("Tuesday. Support");
    const asked = upstream.requests[0]?.text ?? "";
    for (const part of ["Be brief.", "We launch", "notify", "They know.", "Noted.", "Summarize"])
      expect(asked).toContain(part);
    expect(upstream.requests[0]?.body["tools"]).toBeUndefined();

    await using served = await serve(config(upstream.url, path));
    const input = [...compacted.body["output"], { role: "user", content: "When?" }];
    const next = await post(served, "/responses", { model: "m", input, store: false });
    expect(next.status).toBe(200);
    const sent = upstream.requests[1]?.text ?? "";
    expect(sent).toContain(SUMMARY);
    expect(sent).toContain("When?");
    expect(sent).not.toContain("encrypted_content");
    const stranger = await post(served, "/responses", { model: "m", input }, "bob");
    expect(stranger).toMatchObject({
      status: 400,
      body: { error: { code: "compaction.sealed", param: "input[1]" } },
    });
    // A conversation that was compacted before is summarized with its summary.
    const again = await post(served, "/responses/compact", { model: "m", input });
    expect(again.body["output"]).toHaveLength(3);
    expect(upstream.requests.at(-1)?.text).toContain(SUMMARY);
  });

  it("refuses to summarize in the background, and lets go of the conversation", async () => {
    await using upstream = await openUpstream({ text: SUMMARY });
    await using served = await serve(config(upstream.url, join(folder, `${dialect}-3`, "s.db")));
    const { id } = (await post(served, "/conversations", {})).body;
    const asked = { ...conversation, conversation: id, background: true };
    const refused = await post(served, "/responses/compact", asked);
    expect(refused).toMatchObject({ status: 400, body: { error: { param: "background" } } });
    const next = await post(served, "/responses/compact", { ...asked, background: false });
    expect(next.status).toBe(200);
  });

  it("refuses what has no model, and a summary that is empty or cut off", async () => {
    await using upstream = await fakeUpstream(({ body }, index) =>
      answer(body, index === 0 ? { text: "" } : { text: "Half of", stop: "length" }),
    );
    await using served = await serve(config(upstream.url, join(folder, `${dialect}-2`, "s.db")));
    const { model: _, ...nameless } = conversation;
    expect(await post(served, "/responses/compact", nameless)).toMatchObject({ status: 400 });
    for (let at = 0; at < 2; at++)
      expect(await post(served, "/responses/compact", conversation)).toMatchObject({ status: 502 });
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("a compaction item", () => {
  it("of a provider goes to an upstream of its dialect as it is", async () => {
    await using upstream = await fakeUpstream(({ body }) =>
      answerInResponses(body, { text: "Hi" }),
    );
    await using served = await serve(onto("responses", upstream.url));
    const item = { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA" };
    const input = [item, { role: "user", content: "Go on." }];
    expect(await post(served, "/responses", { model: "m", input })).toMatchObject({ status: 200 });
    expect(upstream.requests[0]?.body["input"][0]).toEqual(item);
  });
});
