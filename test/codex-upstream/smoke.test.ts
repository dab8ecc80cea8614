import { expect, it } from "vitest";
import { look } from "../../cli/commands/smoke.ts";
import { answerInResponses } from "../support/fake-model.ts";
import { missing, openCodex } from "./gateway.ts";

it.skipIf(missing)("bursts come through the real codex app-server, in every way", async () => {
  const calls = ["Paris", "Zürich 🏔", "東京"].map((city, at) => ({
    id: `call_${at}`,
    name: "get_weather",
    arguments: JSON.stringify({ city }),
  }));
  await using gateway = await openCodex(({ body }) => answerInResponses(body, { calls }));
  const { url } = gateway.served;
  const report = await look({ url, key: undefined, model: "m", expect: 3, atMost: 3, timeout: 60 });
  expect(report.answers.flatMap(({ problems }) => problems)).toEqual([]);
  expect(report.ok).toBe(true);
});
