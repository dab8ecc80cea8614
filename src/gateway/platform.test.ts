import { describe, expect, it } from "vitest";
import { createGateway } from "../index.ts";
import { defineUpstream } from "../upstreams/define.ts";
import type { Extensions, ProfileExtension } from "./platform.ts";
import { parseConfig, type ConfigInput } from "./config.ts";

const echo = (name: string) =>
  defineUpstream({
    name,
    async *answer({ items }, { model }) {
      yield { type: "text-delta", choice: 0, text: `${model} ${items.length}` };
    },
  });

async function ask(config: ConfigInput, extensions: Extensions, model: string): Promise<string> {
  await using gateway = createGateway(config, extensions);
  const response = await gateway.fetch(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
    }),
  );
  const body = (await response.json()) as { choices?: [{ message: { content: string } }] };
  return body.choices?.[0].message.content ?? JSON.stringify(body);
}

describe("upstreams that were given", () => {
  it("answer under their names and those that the configuration gives them", async () => {
    const extensions = { upstreams: [echo("one"), echo("two")] };
    const config = { models: { clever: "two/big" } };
    expect(await ask(config, extensions, "one/small")).toBe("small 1");
    expect(await ask(config, extensions, "clever")).toBe("big 1");
  });

  it("take the place of the demo, which answers where there is no upstream at all", async () => {
    expect(await ask({}, { upstreams: [echo("one")] }, "any")).toContain("Known: one/<model>");
  });

  it("have names of their own, and names that can be written", () => {
    const given = { upstreams: [echo("one"), echo("a/b")] };
    const config = { upstreams: { one: { dialect: "scripted" as const } }, models: { m: "oen/x" } };
    expect(() => parseConfig(config, given)).toThrow(
      [
        "upstreams.a/b: holds a slash or a blank; models are addressed as `upstream/model`, so name it without",
        "upstreams.one: is the name of an upstream that was given too; choose another for one of them",
        "models.m: there is no upstream `oen`; did you mean `one/x`?",
      ].join("\n"),
    );
  });

  it("outlast a new configuration and are closed with the gateway", async () => {
    let closed = 0;
    const one = { ...echo("one"), close: async () => void closed++ };
    const given = { upstreams: [one] };
    const gateway = createGateway({}, given);
    gateway.reconfigure(parseConfig({ models: { m: "one/x" } }, given));
    expect(closed).toBe(0);
    await gateway.close();
    expect(closed).toBe(1);
  });
});

describe("profiles that were given", () => {
  const configured = (profile: string): ConfigInput => ({
    upstreams: { acme: { dialect: "chat", base_url: "http://127.0.0.1:9/v1", profile } },
  });
  const open = (profile: string, profiles: readonly ProfileExtension[]) =>
    createGateway(configured(profile), { profiles }).close();

  it("extend built-in ones and each other", async () => {
    await open("mini", [
      { name: "acme", extends: "deepseek", tools: { max: 3 } },
      { name: "mini", extends: "acme", tools: { parallel: false } },
    ]);
    await expect(async () => open("mini", [])).rejects.toThrow("there is no profile `mini`");
  });

  it("are held to the same rules as capabilities in a configuration", () => {
    const wrong = { name: "acme", extends: "openay", tools: { maximum: 3 } } as ProfileExtension;
    expect(() => open("acme", [wrong])).toThrow(
      /^The profile `acme` has problems:\nextends: there is no profile `openay`; known: openai, .*\ntools\.maximum: .*/,
    );
  });
});

it("a stage that cannot be made takes nothing of its tenant's limits with it", async () => {
  let isBroken = true;
  const stages = [
    () => {
      if (isBroken) throw new Error("no");
      return undefined;
    },
  ];
  const config: ConfigInput = { limits: { default: { concurrent_turns: 1 } } };
  await using gateway = createGateway(config, { upstreams: [echo("one")], stages });
  const status = async (): Promise<number> => {
    const response = await gateway.fetch(
      new Request("http://gateway/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "one/m", messages: [{ role: "user", content: "Hi" }] }),
      }),
    );
    await response.text();
    return response.status;
  };
  expect(await status()).toBe(500);
  isBroken = false;
  expect(await status()).toBe(200);
});
