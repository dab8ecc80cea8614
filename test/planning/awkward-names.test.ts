import { describe, expect, it } from "vitest";
import { askWithin, readAnswer, doors } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";

/** Names that every object has something under. */
const names = ["constructor", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"] as const;

describe.each(names)("%s", (name) => {
  it("is a name like any other, of an upstream, a model, a caller or a header", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    await using served = await serve({
      server: { keys: [name] },
      upstreams: {
        [name]: {
          dialect: "chat",
          base_url: upstream.url,
          headers: { [name]: "x" },
          models: [name],
          capabilities: {
            tools: { kinds: { [name]: "refuse" } },
            effort: { [name]: { as: "low" } },
            fields: { [name]: 1 },
          },
        },
      },
      models: { [name]: `${name}/${name}` },
    });
    const key = { authorization: `Bearer ${name}` };
    const get = async (path: string): Promise<Body> =>
      (await (await fetch(served.url + path, { headers: key })).json()) as Body;
    const response = await askWithin(served, "responses", { model: name }, { headers: key });
    expect(response.headers.get("x-patchbay-upstream")).toBe(`${name}/${name}`);
    expect((await readAnswer("responses", response)).text).toBe("Hello.");
    expect(upstream.requests[0]?.body).toMatchObject({ model: name, [name]: 1 });
    expect(upstream.requests[0]?.headers[name.toLowerCase()]).toBe("x");
    const { data } = (await get("/v1/models")) as { data: Body[] };
    expect(data.map(({ id }) => id)).toContain(name);
    expect(Object.keys((await get("/v1/usage"))["models"] as Body)).toEqual([name]);
    expect(await (await fetch(`${served.url}/metrics`)).text()).toContain(`upstream="${name}"`);
  });

  it("is nothing that was configured where it was not", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));
    await using served = await serve({
      upstreams: {
        a: { dialect: "chat", base_url: upstream.url, retries: 0 },
        strict: {
          dialect: "chat",
          base_url: upstream.url,
          capabilities: { tools: { kinds: { "*": "refuse" } } },
        },
      },
      models: { m: "a/m" },
    });
    const refused = await askWithin(served, "responses", {
      model: "strict/m",
      tools: [{ type: name }],
    });
    expect((await readAnswer("responses", refused)).error).toMatchObject({ code: "tools.refused" });
    expect((await askWithin(served, "chat", { model: name })).status).toBe(404);
    expect((await askWithin(served, "chat", { model: `${name}/m` })).status).toBe(404);
    for (const door of doors)
      for (const more of [
        { tools: [{ type: name }] },
        { tools: [{ type: name, [name]: { name } }] },
        { tools: [{ type: "function", name, parameters: {} }] },
        { tool_choice: { type: name } },
        { tool_choice: name },
        { reasoning: { effort: name }, reasoning_effort: name },
        { [name]: name },
        { metadata: { [name]: name } },
        { messages: [{ role: name, content: "x" }], input: [{ role: name, content: "x" }] },
        { input: [{ type: name }], messages: [{ role: "user", content: [{ type: name }] }] },
        { response_format: { type: name }, text: { format: { type: name } } },
      ]) {
        const response = await askWithin(served, door, more);
        expect([JSON.stringify(more), response.status]).toEqual([
          JSON.stringify(more),
          expect.toSatisfy((status: number) => status === 200 || status === 400),
        ]);
      }
    expect(served.happenings.filter(({ type }) => type === "trouble")).toEqual([]);
  });
});
