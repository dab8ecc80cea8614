import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import type { Environment } from "../../src/host/config/env.ts";
import { zeroConfig } from "../../src/host/config/providers.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

const zero = (env: Environment): ConfigInput => {
  const { upstreams, models } = zeroConfig(env);
  return { upstreams, models } as ConfigInput;
};

const keys = { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", GEMINI_API_KEY: "c" };
/** Nobody listens there: names of families decide where no list can be had. */
const nowhere = {
  OPENAI_BASE_URL: "http://127.0.0.1:9",
  ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
  GEMINI_BASE_URL: "http://127.0.0.1:9",
};

/** Which upstream would be asked for a model; the refusal, if none. */
async function placeOf({ url }: Pick<Served, "url">, model: string): Promise<string> {
  const response = await fetch(`${url}/v1/plan`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });
  const body = (await response.json()) as { upstream?: string; error?: { message: string } };
  return body.upstream ?? body.error?.message ?? "";
}

async function listed({ url }: Pick<Served, "url">): Promise<string[]> {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

describe("with several provider keys and nothing else", () => {
  it.each([
    ["claude-sonnet-5", "anthropic"],
    ["claude-opus-4-1-20250805", "anthropic"],
    ["gemini-3-flash", "gemini"],
    ["gpt-5.5", "openai"],
    ["GPT-5.5", "openai"],
    ["o3", "openai"],
    ["o4-mini", "openai"],
    ["codex-mini-latest", "openai"],
  ])("%s goes to %s", async (model, upstream) => {
    await using served = await serve(zero({ ...keys, ...nowhere }));
    expect(await placeOf(served, model)).toBe(`${upstream}/${model}`);
  });

  it("a name that fits none is refused, and so is the demo", async () => {
    await using served = await serve(zero({ ...keys, ...nowhere }));
    for (const model of ["llama4", "demo", "opus", ""])
      expect(await placeOf(served, model)).not.toMatch(/^(?:openai|anthropic|gemini|demo)\//);
    expect(await placeOf(served, "llama4")).toBe(
      'There is no model `llama4` here. Known: openai/<model>, anthropic/<model>, gemini/<model>. Add it under `models`, or set `"*"` there to answer for every name.',
    );
  });
});

it("one provider key answers for every name, as the demo does without any", () => {
  expect(zeroConfig({ DEEPSEEK_API_KEY: "a" })).toMatchObject({
    models: { "*": "deepseek/deepseek-v4-pro" },
  });
  expect(Object.keys(zeroConfig({ DEEPSEEK_API_KEY: "a" }).upstreams)).toEqual(["deepseek"]);
  expect(Object.keys(zeroConfig({}).upstreams)).toEqual(["demo"]);
});

it("the variables of the SDKs name another address, unless it is this gateway's", () => {
  const addresses = (env: Readonly<Record<string, string>>): unknown[] =>
    Object.values(zeroConfig({ ...keys, ...env }).upstreams).map(
      (upstream) => (upstream as { base_url: string }).base_url,
    );
  expect(
    addresses({
      OPENAI_BASE_URL: "http://127.0.0.1:9001/openai/v1/",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:9002",
      GEMINI_BASE_URL: "not an address",
    }),
  ).toEqual([
    "http://127.0.0.1:9001/openai/v1",
    "http://127.0.0.1:9002/v1",
    "https://generativelanguage.googleapis.com/v1beta/openai",
  ]);
  expect(addresses({ ANTHROPIC_BASE_URL: "http://localhost:11435" })[1]).toBe(
    "https://api.anthropic.com/v1",
  );
});

it("the upstream that lists a model is asked for it, whatever its name", async () => {
  await using openai = await fakeUpstream(() => json({ data: [{ id: "gpt-5.5" }] }));
  await using groq = await fakeUpstream(() =>
    json({ data: [{ id: "gpt-oss-120b" }, { id: "openai/gpt-oss-20b" }] }),
  );
  await using served = await serve({
    upstreams: {
      openai: { dialect: "chat", profile: "openai", base_url: openai.url },
      groq: { dialect: "chat", profile: "groq", base_url: groq.url },
      demo: { dialect: "scripted" },
    },
    models: { first: "demo/demo", fast: "groq/gpt-oss-120b" },
  });
  // Nobody has asked for the list before.
  expect(await placeOf(served, "gpt-oss-120b")).toBe("groq/gpt-oss-120b");
  expect(await listed(served)).toEqual([
    "fast",
    "openai/gpt-5.5",
    "groq/gpt-oss-120b",
    "groq/openai/gpt-oss-20b",
    "first",
  ]);
  expect(await placeOf(served, "gpt-5.5")).toBe("openai/gpt-5.5");
  expect(await placeOf(served, "gpt-oss-20")).toBe("openai/gpt-oss-20");
  expect(await placeOf(served, "fst")).toContain("Did you mean `fast`?");
});

it("a name that fits none is refused with those that it is a part of, or that are spelt like it", async () => {
  const models = ["claude-opus-5-5", "claude-sonnet-5"].map((id) => ({ id }));
  await using anthropic = await fakeUpstream(() => json({ data: models }));
  await using served = await serve({
    upstreams: {
      anthropic: { dialect: "messages", profile: "anthropic", base_url: anthropic.url },
      local: { dialect: "chat", base_url: "http://127.0.0.1:9/v1" },
    },
  });
  const refusal = (name: string): string => `There is no model \`${name}\` here. Did you mean `;
  expect(await placeOf(served, "opus")).toContain(`${refusal("opus")}\`claude-opus-5-5\`?`);
  expect(await placeOf(served, "Claude")).toContain(
    `${refusal("Claude")}\`claude-opus-5-5\` or \`claude-sonnet-5\`?`,
  );
  expect(await placeOf(served, "cluade-sonet-5")).toContain("Did you mean `claude-sonnet-5`?");
});

describe("the demo beside another upstream", () => {
  const beside = (base_url: string, more: object = {}, models = {}): ConfigInput => ({
    upstreams: { demo: { dialect: "scripted" }, it: { dialect: "chat", base_url, ...more } },
    models,
  });

  it("is not listed, also where the other lists nothing", async () => {
    await using upstream = await fakeUpstream(() => json({}, 404));
    await using served = await serve(beside(upstream.url));
    expect(await listed(served)).toEqual([]);
    await using keyed = await serve(beside(upstream.url, { profile: "openai", api_key: "k" }));
    expect(await listed(keyed)).toEqual(["it/gpt-5.5"]);
  });

  it("is listed last under a name of its own", async () => {
    await using upstream = await fakeUpstream(() => json({ data: [{ id: "m" }] }));
    await using served = await serve(
      beside(upstream.url, {}, { first: "demo/demo", mine: "it/m" }),
    );
    expect(await listed(served)).toEqual(["mine", "it/m", "first"]);
  });
});
