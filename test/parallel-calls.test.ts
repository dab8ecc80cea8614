import { expect, it } from "vitest";
import { ask, doors, told } from "./client.ts";
import { chunk, wantedCalls } from "./fake-model.ts";
import { done, fakeUpstream, sse } from "./fake-upstream.ts";
import { onto, serve } from "./serve.ts";

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
    expect((await told(door, await ask(served, door, { stream }))).calls).toEqual(
      wantedCalls.map(({ id, name, arguments: input }) =>
        Object.assign({ id, name, input, kind: "function", complete: true }),
      ),
    );
});
