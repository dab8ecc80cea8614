import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  configOf,
  directory,
  load,
  makeFolder,
  removeFolder,
  write,
} from "../../../test/support/config-folder.ts";
import { profileFor } from "../../profiles/profiles.ts";
import { providers } from "./providers.ts";

beforeEach(makeFolder);
afterEach(removeFolder);

describe("zero configuration", () => {
  it("is the demo when no key is there", () => {
    const loaded = load();
    expect(Object.keys(configOf(loaded).upstreams)).toEqual(["demo"]);
    expect(configOf(loaded).models).toEqual({ demo: ["demo/demo"], "*": ["demo/demo"] });
    expect(loaded.notes).toEqual([]);
  });

  it("makes an upstream of each well-known key", () => {
    const config = configOf(load({ GROQ_API_KEY: "g", DEEPSEEK_API_KEY: "d", OPENAI_API_KEY: "" }));
    expect(Object.keys(config.upstreams)).toEqual(["deepseek", "groq"]);
    expect(config.upstreams["deepseek"]).toMatchObject({
      dialect: "chat",
      base_url: "https://api.deepseek.com/v1",
      api_key: "d",
    });
    expect(config.models).toEqual({});
    expect(configOf(load({ DEEPSEEK_API_KEY: "d" })).models).toEqual({
      "*": ["deepseek/deepseek-v4-pro"],
    });
  });

  it.each(Object.entries(providers))("knows what %s takes", (_, { profile, dialect }) => {
    expect(profileFor(profile, dialect)?.dialect).toBe(dialect);
  });

  it("also fills in for a file that names no upstreams", () => {
    write("patchbay.yaml", "models: { fast: groq/some-model }\n");
    const config = configOf(load({ GROQ_API_KEY: "g" }));
    expect(config.models).toEqual({ fast: ["groq/some-model"] });
  });

  it("has Codex where it is on PATH and signed in", () => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "codex"), "", { mode: 0o755 });
    const env = { PATH: bin, CODEX_HOME: join(directory, "codex-home") };
    expect(Object.keys(configOf(load(env)).upstreams)).toEqual(["demo"]);
    mkdirSync(env.CODEX_HOME);
    writeFileSync(join(env.CODEX_HOME, "auth.json"), "{}");
    const config = configOf(load(env));
    expect(config.upstreams["codex"]).toMatchObject({ dialect: "codex", command: "codex" });
    // Not in the current folder, where a clone could have put a sign-in and instructions of its own.
    expect(config.upstreams["codex"]).toMatchObject({
      home: join(directory, "home/patchbay/codex"),
    });
    expect(config.models["*"]).toEqual(["codex/*"]);
  });

  it("needs no more than a key of Anthropic's to pass every model name on to it", () => {
    const { upstreams, models } = configOf(load({ ANTHROPIC_API_KEY: "a" }));
    expect(upstreams["anthropic"]).toMatchObject({ dialect: "messages", profile: "anthropic" });
    expect(models["*"]).toEqual(["anthropic/*"]);
  });
});
