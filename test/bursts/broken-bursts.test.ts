import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { askWithin, doors, readAnswer, type DoorName } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { cut, fakeUpstream, frame, sse, type Body, type Step } from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve } from "../support/serve.ts";

const begun = (index: number, input: string, choice = 0): string =>
  chunk(choice, {
    tool_calls: [
      {
        index,
        id: `call_${index}`,
        type: "function",
        function: { name: "look", arguments: input },
      },
    ],
  });
const more = (index: number, input: string, choice = 0): string =>
  chunk(choice, { tool_calls: [{ index, function: { arguments: input } }] });
const spoken = (content: string): string => chunk(0, { role: "assistant", content });

const look = {
  name: "look",
  parameters: { type: "object", properties: { a: { type: "string" } } },
};
const tools = {
  chat: [{ type: "function", function: look }],
  responses: [{ type: "function", name: look.name, parameters: look.parameters }],
};

const rules: Readonly<Record<string, ConfigInput["tools"]>> = {
  "no rule": {},
  "a cap": { block_max: 2 },
  "a cap of one": { block_max: 1 },
  "a stop after the burst": { stop_after: true },
  "no repeats": { block_dedup: true },
  "no tail": { suppress_tail: true },
  "openai-json": { output: "openai-json" },
  "obsidian-xml": { output: "obsidian-xml" },
  "all at once": {
    block_max: 5,
    stop_after: true,
    block_dedup: true,
    suppress_tail: true,
    output: "obsidian-xml",
  },
};

const endings: Readonly<Record<string, readonly Step[]>> = {
  "is cut off": [cut],
  "reports an error": [frame({ error: { message: "Out of memory.", code: "oom" } })],
};

/** One whole call, and half of another. */
const half = [spoken("Hi "), begun(0, '{"a":"1"}'), begun(1, '{"a":'), more(1, '"2')];

async function broken(
  ending: readonly Step[],
  rule: ConfigInput["tools"],
  door: DoorName,
  stream: boolean,
) {
  await using upstream = await fakeUpstream(() => sse(...half, ...ending));
  await using served = await serve({ ...onto("chat", upstream.url), tools: rule });
  const response = await askWithin(served, door, { stream, tools: tools[door] });
  const text = await response.clone().text();
  return { text, answer: await readAnswer(door, response), turns: served.turns() };
}

describe.each(doors)("a burst that breaks off, at the %s door", (door) => {
  describe.each(Object.keys(endings))("because the upstream %s", (ending) => {
    it.each(Object.keys(rules))("is one failure under %s, streamed", async (rule) => {
      const { answer, text, turns } = await broken(endings[ending] ?? [], rules[rule], door, true);
      expect(answer.error).toBeDefined();
      expect(turns).toMatchObject([{ outcome: "failed", stops: [] }]);
      const closed = door === "chat" ? [] : closedAfterFailing(text);
      expect(closed.map(({ status }) => status as string)).toEqual(closed.map(() => "incomplete"));
      // What a client has is what is counted.
      const complete = answer.calls.filter((call) => call.complete).length;
      expect(turns[0]?.calls.given).toBeGreaterThanOrEqual(complete);
      expect(turns[0]?.calls.given).toBeLessThanOrEqual(1);
      const { given, truncated } = turns[0]?.calls ?? {};
      const comments = text.match(/^: \{"tool_call_count":\d+/gm) ?? [];
      const isTold = given === 1 || truncated === true;
      expect(comments).toEqual(isTold ? [`: {"tool_call_count":${given}`] : []);
    });

    it.each(Object.keys(rules))(
      "is one failure under %s, and counts nothing as given",
      async (rule) => {
        const { answer, turns } = await broken(endings[ending] ?? [], rules[rule], door, false);
        expect(answer.status).toBeGreaterThanOrEqual(500);
        expect(turns).toMatchObject([
          { outcome: "failed", calls: { given: 0 }, callsByChoice: [] },
        ]);
      },
    );
  });
});

/** The items that were closed behind the last word of the upstream, but for the call that was whole. */
function closedAfterFailing(text: string): Body[] {
  const events = readResponsesEvents(text);
  const last = events.findLastIndex(({ type }) => (type as string).endsWith(".delta"));
  return events
    .slice(last)
    .filter(({ type, item }) => type === "response.output_item.done" && item.call_id !== "call_0")
    .map(({ item }) => item as Body);
}
