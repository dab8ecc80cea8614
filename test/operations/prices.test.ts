import { expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";

it("what turns cost is in /v1/usage by tenant and model, and in /metrics", async () => {
  await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
  await using served = await serve({
    upstreams: { fake: { dialect: "chat", base_url: upstream.url } },
    models: { dear: "fake/large", cheap: "fake/small", free: "fake/own" },
    // 11 tokens go in and 7 come out of each answer.
    prices: { "fake/large": { input: 2, output: 10 }, cheap: { input: 0.2, output: 1 } },
    server: {
      keys: [
        { name: "ann", key: "key-of-ann" },
        { name: "bob", key: "key-of-bob" },
      ],
    },
  });
  const fetchAs = (name: string, path: string, body?: object): Promise<Response> =>
    fetch(served.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer key-of-${name}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const ask = async (name: string, model: string): Promise<void> => {
    const messages = [{ role: "user", content: "Hi" }];
    await (await fetchAs(name, "/v1/chat/completions", { model, messages })).text();
  };
  for (const model of ["dear", "dear", "cheap", "free"]) await ask("ann", model);
  await ask("bob", "cheap");
  const ann = (await (await fetchAs("ann", "/v1/usage")).json()) as Body;
  expect([ann["cost"], ann["models"].dear.cost, ann["models"].cheap.cost]).toEqual([
    0.0001932, 0.000184, 0.0000092,
  ]);
  expect(ann["models"].free).not.toHaveProperty("cost");
  const bob = (await (await fetchAs("bob", "/v1/usage")).json()) as Body;
  expect(bob["cost"]).toBe(0.0000092);
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  const costs = [...metrics.matchAll(/^patchbay_cost_total\{(.*)\} (\S+)$/gm)].map(
    ([, labels, cost]) => [labels, Number(Number(cost).toFixed(9))],
  );
  expect(costs.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1))).toEqual([
    ['model="cheap"', 0.0000184],
    ['model="fake/large"', 0.000184],
  ]);
});
