import { expect, it } from "vitest";
import { ask, doors, readAnswer } from "../support/client.ts";
import { chunk } from "../support/fake-model.ts";
import { fakeUpstream, sse } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";

it.each(doors)("an answer without end has a truthful end at the %s door", async (door) => {
  const word = chunk(0, { content: "w".repeat(1000) });
  await using upstream = await fakeUpstream(() => sse(...Array.from({ length: 400 }, () => word)));
  await using served = await serve({
    ...onto("chat", upstream.url),
    server: { answer_limit: 200_000 },
  });
  const answer = await readAnswer(door, await ask(served, door, { stream: true }));
  expect(answer.error).toMatchObject({ code: "upstream.too_long" });
  expect(answer.text.length).toBeLessThanOrEqual(200_000);
  expect(served.turns()[0]).toMatchObject({ outcome: "failed", fault: "upstream.too_long" });
  const whole = await readAnswer(door, await ask(served, door, { stream: false }));
  expect(whole.error).toMatchObject({ code: "upstream.too_long" });
});
