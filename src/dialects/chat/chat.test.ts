import { expect, it } from "vitest";
import { chat } from "./chat.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

it("takes a megabyte of arguments in single characters", () => {
  const chunk = (delta: unknown, finish_reason: string | null = null): string =>
    JSON.stringify({
      id: "x",
      object: "chat.completion.chunk",
      created: 7,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    });
  const piece = (text: string): string =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  const call = { index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } };
  const reader = chat.upstream.readEvents({ newId: (prefix) => prefix, frames: false });
  let said = 0;
  const hear = (data: string): void =>
    reader.frame(data, undefined, false, (event) => {
      if (event.type === "call-delta") said += event.text.length;
    });
  hear(chunk({ role: "assistant", content: null, tool_calls: [call] }));
  const [a, b] = [piece("a"), piece("b")];
  const started = cpuTime();
  for (let at = 0; at < 500_000; at++) {
    hear(a);
    hear(b);
  }
  hear(chunk({}, "tool_calls"));
  expect(said).toBe(1_000_000);
  expect(cpuTime() - started).toBeLessThan(5_000);
});
