import { describe, expect, it } from "vitest";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, json, type Body } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const get = (served: Served, path: string, key: string): Promise<Response> =>
  fetch(served.url + path, { headers: { "x-api-key": key } });

const post = async (served: Served, path: string, key: string, body: Body): Promise<Body> => {
  const response = await fetch(served.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ model: "m", ...body }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
};

const chat = (served: Served, key: string, body: Body = {}): Promise<Body> =>
  post(served, "/v1/chat/completions", key, {
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  });

const planNames = async (served: Served, key: string, id = "chatcmpl-1"): Promise<unknown> => {
  const response = await get(served, `/v1/plans/${id}`, key);
  if (!response.ok) return response.status;
  return ((await response.json()) as { tools: Body[] }).tools.map(({ name }) => name);
};

const requestsOf = async (served: Served, key: string): Promise<unknown> =>
  ((await (await get(served, "/v1/usage", key)).json()) as Body)["total_requests"];

/** Answers everybody under the same id. */
const oneId = () =>
  fakeUpstream(({ body }) => {
    const { steps } = answerInChat({ ...body, stream: false }, { text: "Hello." });
    const [text = ""] = steps as Iterable<string>;
    return json({ ...(JSON.parse(text) as Body), id: "chatcmpl-1" });
  });

const tool = (name: string): Body => ({ tools: [{ type: "function", function: { name } }] });

describe("two tenants whose upstream gives every answer the same id", () => {
  it("each find the plan of their own answer", async () => {
    await using upstream = await oneId();
    await using served = await serve({
      server: { keys: ["one", "other"] },
      ...onto("chat", upstream.url),
    });
    await chat(served, "one", tool("first"));
    expect(await planNames(served, "other")).toBe(404);
    await chat(served, "other", tool("second"));
    expect(await planNames(served, "one")).toEqual(["first"]);
    expect(await planNames(served, "other")).toEqual(["second"]);
  });
});

describe("a tenant", () => {
  it("keeps its state when its key is replaced", async () => {
    await using upstream = await oneId();
    const config = onto("chat", upstream.url);
    const keys = [
      { name: "ann", key: "old" },
      { name: "ann", key: "new" },
      { name: "bob", key: "bobs" },
    ];
    await using served = await serve({ server: { keys }, ...config });
    await chat(served, "old", tool("first"));
    expect(await planNames(served, "new")).toEqual(["first"]);
    expect(await planNames(served, "bobs")).toBe(404);
    expect(await requestsOf(served, "new")).toBe(1);
    expect(await requestsOf(served, "bobs")).toBe(0);
  });

  it("is named by a bare key as long as that stays the same", async () => {
    await using upstream = await oneId();
    const digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"; // of `foo`
    const keys = ["foo", { name: `key-${digest.slice(0, 12)}`, key: "next" }];
    await using served = await serve({ server: { keys }, ...onto("chat", upstream.url) });
    await chat(served, "foo", tool("first"));
    expect(await planNames(served, "next")).toEqual(["first"]);
  });
});

describe("items that two tenants know by the same id", () => {
  it("stand for what each of them was given", async () => {
    await using upstream = await fakeUpstream(({ body }, index) =>
      index < 2
        ? answerInResponses(body, { text: `Hello ${index}.` })
        : answerInResponses(body, {}),
    );
    // A rule for calls keeps answers out of the straight lane, so that items are kept here.
    await using served = await serve({
      server: { keys: ["one", "other"] },
      tools: { suppress_tail: true },
      ...onto("responses", upstream.url),
    });
    const ids: string[] = [];
    for (const key of ["one", "other"]) {
      const { output } = (await post(served, "/v1/responses", key, { input: "Hi" })) as {
        output: Body[];
      };
      ids.push(String(output[0]?.["id"]));
    }
    for (const key of ["one", "other"]) {
      const reference = { type: "item_reference", id: ids[key === "one" ? 0 : 1] };
      await post(served, "/v1/responses", key, { input: [reference] });
    }
    expect(ids[0]).toBe(ids[1]);
    expect(
      upstream.requests.slice(2).map(({ body }) => JSON.stringify(body).match(/Hello \d/)?.[0]),
    ).toEqual(["Hello 0", "Hello 1"]);
  });
});

describe("reasoning that an upstream sealed for one tenant", () => {
  it("is of unknown origin for another", async () => {
    const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "seal-of-far" };
    const upstream = (own: boolean) =>
      fakeUpstream(({ body }) => {
        const { steps } = answerInResponses({ ...body, stream: false }, { text: "Hello." });
        const [text = ""] = steps as Iterable<string>;
        const answer = JSON.parse(text) as Body;
        return json(
          own ? { ...answer, output: [sealed, ...(answer["output"] as Body[])] } : answer,
        );
      });
    await using near = await upstream(false);
    await using far = await upstream(true);
    const to = { dialect: "responses", retries: 0 } as const;
    await using served = await serve({
      server: { keys: ["one", "other"] },
      upstreams: { near: { ...to, base_url: near.url }, far: { ...to, base_url: far.url } },
    });
    await post(served, "/v1/responses", "one", { model: "far/m", input: "Hi" });
    const input = [sealed, { role: "user", content: "And?" }];
    for (const key of ["one", "other"])
      await post(served, "/v1/responses", key, { model: "near/m", input });
    const sent = near.requests.map(({ body }) => JSON.stringify(body).includes("seal-of-far"));
    expect(sent).toEqual([false, true]);
  });
});
