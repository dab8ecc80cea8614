import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { childEnvironment, prepareHome, startArguments } from "./home.ts";

const key = "sk-very-secret";

describe("what the child is told", () => {
  it("is where its model is, and the key only in its environment", () => {
    const provider = { baseUrl: "http://127.0.0.1:1/v1", apiKey: key };
    const args = startArguments(provider).join(" ");
    expect(args).toContain('base_url="http://127.0.0.1:1/v1"');
    expect(args).toContain("stream_max_retries=0");
    expect(args).not.toContain(key);
    expect(Object.values(childEnvironment({}, "/home", provider))).toContain(key);
  });

  it("is to go by its own sign-in where nothing is configured", () => {
    const args = startArguments({}).join(" ");
    expect(args).toContain("requires_openai_auth=true");
    expect(args).not.toContain("base_url");
    expect(startArguments({ apiKey: key }).join(" ")).toContain("https://api.openai.com/v1");
  });

  it("is nothing of our environment but what it needs", () => {
    const own = {
      PATH: "/bin",
      LC_ALL: "C",
      https_proxy: "http://p",
      DEEPSEEK_API_KEY: "d",
      X: "x",
    };
    expect(childEnvironment(own, "/home", {})).toEqual({
      PATH: "/bin",
      LC_ALL: "C",
      https_proxy: "http://p",
      CODEX_HOME: "/home",
    });
  });
});

describe("the child's home", () => {
  let folder = "";
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "patchbay-home-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it("holds our configuration and catalog, and no key", () => {
    prepareHome(join(folder, "home"), { apiKey: key }, { HOME: folder });
    const files = readdirSync(join(folder, "home"));
    expect(files.toSorted()).toEqual(["config.toml", "patchbay-models.json"]);
    for (const file of files)
      expect(readFileSync(join(folder, "home", file), "utf8")).not.toContain(key);
  });

  it("leads to the user's own sign-in, and leaves one that is there alone", () => {
    const login = join(folder, "auth.json");
    writeFileSync(login, "{}");
    const env = { CODEX_HOME: folder };
    prepareHome(join(folder, "home"), {}, env);
    expect(readlinkSync(join(folder, "home", "auth.json"))).toBe(login);
    prepareHome(join(folder, "home"), {}, env);
    prepareHome(join(folder, "keyed"), { apiKey: key }, env);
    expect(readdirSync(join(folder, "keyed"))).not.toContain("auth.json");
  });
});
