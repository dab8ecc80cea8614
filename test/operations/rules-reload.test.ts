import { describe, expect, it } from "vitest";
import { parseConfig, type ConfigInput } from "../../src/gateway/config.ts";
import { ask, doors, readAnswer, type DoorName } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, sse } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

type Rules = ConfigInput["tools"];

const call = (index: number): string =>
  chunk(0, {
    tool_calls: [
      { index, id: `c${index}`, type: "function", function: { name: "look", arguments: "{}" } },
    ],
  });
const tool = { name: "look", parameters: { type: "object", properties: {} } };
const tools = {
  chat: [{ type: "function", function: tool }],
  responses: [{ type: "function", ...tool }],
} as const;

/** Changes the rules between the first call of a turn and the others; what that turn has, and the next. */
async function changed(door: DoorName, stream: boolean, before: Rules, after: Rules) {
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => void (goOn = resolve));
  let begun = (): void => {};
  const isUnderWay = new Promise<void>((resolve) => void (begun = resolve));
  await using upstream = await fakeUpstream((_, index) => {
    begun();
    const rest = [call(1), call(2), chunk(0, {}, "tool_calls"), done];
    const head = [chunk(0, { role: "assistant", content: null }), call(0)];
    return sse(...head, ...(index === 0 ? [held] : []), ...rest);
  });
  const config = onto("chat", upstream.url);
  await using served = await serve({ ...config, tools: before });
  const asked = { stream, tools: tools[door] };
  const pending = ask(served, door, asked);
  await isUnderWay;
  served.gateway.reconfigure(parseConfig({ ...config, tools: after }));
  goOn();
  const [first, second] = [await pending, await ask(served, door, asked)];
  return {
    modes: [first, second].map(({ headers }) => headers.get("x-codex-stop-after-tools-mode")),
    calls: [await readAnswer(door, first), await readAnswer(door, second)].map(
      ({ calls }) => calls.length,
    ),
    truncated: served.turns().map((turn) => turn.calls.truncated),
  };
}

describe.each(doors)("rules that change while a turn is under way at the %s door", (door) => {
  it.each([true, false])("hold from the next request on (stream: %s)", async (stream) => {
    const single = { block_max: 1, stop_after_mode: "first" } as const;
    expect(await changed(door, stream, {}, single)).toEqual({
      modes: ["burst", "first"],
      calls: [3, 1],
      truncated: [false, true],
    });
    expect(await changed(door, stream, { block_max: 2 }, {})).toEqual({
      modes: ["burst", "burst"],
      calls: [2, 3],
      truncated: [true, false],
    });
  });
});
