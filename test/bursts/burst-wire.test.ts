import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { writeUseTool } from "../../src/tools/text-calls/use-tool.ts";
import { askWithin, doors, readAnswer } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, hang, sse, type Step } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { onto, serve } from "../support/serve.ts";

const parameters = {
  type: "object",
  properties: { text: { type: "string" }, note: { type: "string" } },
};
const toolFor = {
  chat: { type: "function", function: { name: "say", parameters } },
  responses: { type: "function", name: "say", parameters },
} as const;

/** Emoji with joiners and skin, CJK beyond the basic plane, combining marks, right to left, and XML's own signs. */
const hard = [
  "👩🏽‍🚀 👨‍👩‍👧‍👦 🇨🇭",
  "漢字かな交じり文 𠮷野家 한글",
  "e\u0301 n\u0303 Z\u0351\u036b\u0343 \u200b|\ufeff|",
  'שלום "x" <b>&amp;</b> </use_tool> \u2028\u0000',
];

const started = (index: number, id: string): string =>
  chunk(0, {
    tool_calls: [{ index, id, type: "function", function: { name: "say", arguments: "" } }],
  });
const more = (index: number, text: string): string =>
  chunk(0, { tool_calls: [{ index, function: { arguments: text } }] });

/** Bytes, cut at these places. */
function cutAt(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const edges = [0, ...places.map((place) => place % bytes.length), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return edges.slice(1).map((edge, at) => bytes.subarray(edges[at], edge));
}

const shown = (tools: ConfigInput["tools"], url: string): ConfigInput => ({
  ...onto("chat", url),
  tools,
});

describe.each(doors)("text of every script, through the %s door", (door) => {
  it.each([true, false])(
    "stays what it is in arguments and blocks, wherever its bytes are cut (stream: %s)",
    async (stream) => {
      let steps: Step[] = [];
      await using upstream = await fakeUpstream(() => sse(...steps));
      await using served = await serve(shown({ output: "obsidian-xml" }, upstream.url));
      const inputs = hard.map((text, at) =>
        JSON.stringify({ text, note: hard[(at + 1) % hard.length] }),
      );
      const frames =
        inputs.map((input, at) => started(at, `call_${at}`) + more(at, input)).join("") +
        chunk(0, {}, "tool_calls") +
        done;
      const blocks = inputs.map((input) => writeUseTool("say", input, parameters)).join("");
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(), { maxLength: 60 }), async (places) => {
          steps = cutAt(frames, places);
          const answer = await readAnswer(
            door,
            await askWithin(served, door, { stream, tools: [toolFor[door]] }),
          );
          expect(answer.calls.map(({ input }) => input)).toEqual(inputs);
          expect(answer.text).toBe(blocks);
        }),
        { numRuns: 15 },
      );
    },
  );

  it("stays what it is in calls that a model writes in its text", async () => {
    const written = hard.map((text) => writeUseTool("say", JSON.stringify({ text }), parameters));
    let steps: Step[] = [];
    await using upstream = await fakeUpstream(() => sse(...steps));
    await using served = await serve(shown({ text_calls: true }, upstream.url));
    const frames =
      written.map((content) => chunk(0, { content })).join("") + chunk(0, {}, "stop") + done;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 60 }), async (places) => {
        steps = cutAt(frames, places);
        const asked = { stream: true, tools: [toolFor[door]] };
        const answer = await readAnswer(door, await askWithin(served, door, asked));
        expect(answer.calls.map(({ input }) => JSON.parse(input) as unknown)).toEqual(
          hard.map((text) => ({ text })),
        );
        expect(answer.text).toBe("");
      }),
      { numRuns: 15 },
    );
  });
});

describe.each(doors)("a client of the %s door that leaves in the middle of a burst", (door) => {
  it.each([
    ["without a rule", {}],
    [
      "with every rule",
      {
        stop_after: true,
        stop_after_grace_ms: 60_000,
        block_max: 9,
        block_dedup: true,
        suppress_tail: true,
        output: "obsidian-xml",
      },
    ],
  ] as const)("takes the upstream along, and is told of once (%s)", async (_name, tools) => {
    await using upstream = await fakeUpstream(() =>
      sse(started(0, "a") + more(0, '{"text":"1"}') + started(1, "b") + more(1, '{"te'), hang),
    );
    await using served = await serve(shown(tools, upstream.url));
    const abort = new AbortController();
    const asked = { stream: true, tools: [toolFor[door]] };
    const response = await askWithin(served, door, asked, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    await upstream.requests[0]?.closed;
    expect(upstream.requests.map((one) => one.abandoned())).toEqual([true]);
    await until(() => served.turns().length > 0);
    expect(served.turns()).toMatchObject([{ outcome: "left", status: 499, stops: [] }]);
    const metrics = await (await fetch(`${served.url}/metrics`)).text();
    expect(metrics).toContain(
      `patchbay_turns_total{door="${door}",upstream="fake",outcome="left"} 1`,
    );
    expect(metrics).toContain(
      '_truncated_total{door="' + door + '",upstream="fake",stop_after_tools_mode="burst"} 0',
    );
  });
});
