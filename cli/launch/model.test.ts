import { expect, it } from "vitest";
import { fakeUpstream, frame, hang, json, sse } from "../../test/support/fake-upstream.ts";
import { answerInChat } from "../../test/support/fake-model.ts";
import { checkModel } from "./model.ts";

const check = async (answer: ReturnType<typeof json>, patienceMs?: number) => {
  await using gateway = await fakeUpstream(() => answer);
  const { origin: url } = new URL(gateway.url);
  return await checkModel(
    { url, key: "k", model: "a/m", models: ["a/m", "a/n", "b/o"] },
    patienceMs,
  );
};

it("has nothing to say of a model that answers", async () => {
  expect(await check(answerInChat({ stream: true }, { text: "Hello." }))).toBeUndefined();
});

it.each([
  ["a refusal", json({ error: { message: "No such key." } }, 401), "No such key."],
  ["an error in a stream", sse(frame({ error: { message: "Used up." } })), "Used up."],
  ["a page of another server", json("<html>", 502), "The gateway answers 502."],
])("says what %s says, and which other models there are", async (_, answer, why) => {
  await expect(check(answer)).rejects.toThrow(
    `a/m cannot answer, so the agent was not started. ${why} To use another model: --model b/o`,
  );
});

it("notes that no answer came in time, which is no failure", async () => {
  expect(await check(sse(": here\n\n", hang), 20)).toBe(
    "a/m has not answered a short request in 0.02 s.",
  );
});
