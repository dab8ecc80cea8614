import { expect, it } from "vitest";
import { chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, sse } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { limitedReplica } from "../support/replica.ts";
import { onto } from "../support/serve.ts";

/** Only there does a process learn how many it may have. */
const isLinux = process.platform === "linux";

it.skipIf(!isLinux)("keeps descriptors for clients: who cannot be served is told so", async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const hello = chunk(0, { role: "assistant", content: "Hello" });
  const stop = chunk(0, {}, "stop");
  await using upstream = await fakeUpstream(() => sse(hello, released, stop, done));
  await using gateway = await limitedReplica(128, onto("chat", upstream.url));
  const ask = async (): Promise<string> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] }),
    });
    const text = await response.text();
    return `${response.status} ${/"code":"[^"]+"/.exec(text)?.[0] ?? ""}`;
  };
  const answers: string[] = [];
  const asking: Promise<unknown>[] = [];
  for (let at = 0; at < 80; at++) {
    asking.push(
      ask().then(
        (told) => answers.push(told),
        () => answers.push("cut"),
      ),
    );
    await until(() => upstream.requests.length + answers.length === asking.length);
  }
  expect(new Set(answers)).toEqual(new Set(['503 "code":"gateway.exhausted"']));
  release();
  await Promise.all(asking);
  expect(answers.filter((told) => told.startsWith("200"))).toHaveLength(upstream.requests.length);
  expect(await ask()).toBe("200 ");
});
