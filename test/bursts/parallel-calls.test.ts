import { describe, expect, it } from "vitest";
import { ask, doors, readAnswer } from "../support/client.ts";
import { chunk, wantedCalls } from "../support/fake-model.ts";
import { done, fakeUpstream, sse } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

it.each(doors)("calls whose fragments take turns stay apart at the %s door", async (door) => {
  const starts = wantedCalls.map(({ id, name }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: "" },
  }));
  const longest = Math.max(...wantedCalls.map((call) => call.arguments.length));
  const turns = Array.from({ length: longest }, (_, at) =>
    wantedCalls.map((call, index) => ({
      index,
      function: { arguments: call.arguments.charAt(at) },
    })),
  );
  const frames = [...starts, ...turns.flat()].map((entry) => chunk(0, { tool_calls: [entry] }));
  await using upstream = await fakeUpstream(() =>
    sse(
      chunk(0, { role: "assistant", content: null }),
      ...frames,
      chunk(0, {}, "tool_calls"),
      done,
    ),
  );
  await using served = await serve(onto("chat", upstream.url));
  for (const stream of [true, false])
    expect((await readAnswer(door, await ask(served, door, { stream }))).calls).toEqual(
      wantedCalls.map(({ id, name, arguments: input }) =>
        Object.assign({ id, name, input, kind: "function", complete: true }),
      ),
    );
});

describe.each(doors)("a house that allows one call at a time, at the %s door", (door) => {
  const calls = wantedCalls.map(({ id, name, arguments: input }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: input },
  }));
  const named = { name: wantedCalls[0]?.name, parameters: { type: "object" } };
  const tools = [
    door === "chat" ? { type: "function", function: named } : { type: "function", ...named },
  ];

  it.each([true, false])("asks for it, and holds to it (stream: %s)", async (stream) => {
    await using upstream = await fakeUpstream(() =>
      sse(chunk(0, { tool_calls: calls }), chunk(0, {}, "tool_calls"), done),
    );
    await using served = await serve({
      ...onto("chat", upstream.url),
      tools: { parallel: false },
    });
    const answer = await readAnswer(door, await ask(served, door, { stream, tools }));
    expect(upstream.requests[0]?.body).toMatchObject({ parallel_tool_calls: false });
    expect(answer.calls).toHaveLength(1);
    expect(served.turns()[0]?.calls).toMatchObject({ given: 1, withheld: 1, truncated: true });
  });

  it.each([true, false])(
    "asks for it, and delivers every call if it only does not request more (stream: %s)",
    async (stream) => {
      await using upstream = await fakeUpstream(() =>
        sse(chunk(0, { tool_calls: calls }), chunk(0, {}, "tool_calls"), done),
      );
      await using served = await serve({
        ...onto("chat", upstream.url),
        tools: { parallel: "unrequested" },
      });
      const answer = await readAnswer(door, await ask(served, door, { stream, tools }));
      expect(upstream.requests[0]?.body).toMatchObject({ parallel_tool_calls: false });
      expect(answer.calls).toHaveLength(wantedCalls.length);
      expect(served.turns()[0]?.calls).toMatchObject({ withheld: 0, truncated: false });
    },
  );

  it("leaves a request without tools alone", async () => {
    await using upstream = await fakeUpstream(() =>
      sse(chunk(0, { content: "Hello." }), chunk(0, {}, "stop"), done),
    );
    await using served = await serve({ ...onto("chat", upstream.url), tools: { parallel: false } });
    expect((await readAnswer(door, await ask(served, door, { stream: true }))).text).toBe("Hello.");
    expect(upstream.requests[0]?.body).not.toHaveProperty("parallel_tool_calls");
  });
});
