import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isTerminal } from "../../src/terminal.ts";
import type { AgentTarget, Pointing } from "./agent.ts";
import { geminiAgent } from "./gemini.ts";

const OAUTH = `{ "security": { "auth": { "selectedType": "oauth-personal" } } }`;

/** A home with files, and the pointing of a launch in its folder `work`. */
function homeWith(files: Readonly<Record<string, string>>) {
  const home = mkdtempSync(join(tmpdir(), "patchbay-gemini-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const at = (...names: string[]): string => join(home, ...names);
  mkdirSync(at("work"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
  const point = (
    env: Readonly<Record<string, string>> = {},
    other: Partial<AgentTarget> = {},
  ): Pointing =>
    geminiAgent.point(
      {
        url: "http://127.0.0.1:4711",
        key: "k",
        model: "m",
        small: "m",
        models: ["m"],
        context: 1000,
        folder: "/run",
        lasting: "/lasting",
        env: { HOME: home, ...env },
        directory: at("work"),
        args: [],
        ...other,
      },
      () => Promise.resolve(""),
    ) as Pointing;
  return { at, point };
}

const settingsIn = ({ files = {} }: Pointing): string =>
  files[join(".gemini", "settings.json")] ?? "";

describe("the home of a launched Gemini CLI", () => {
  it("has the user's settings with another sign-in, and every other byte of them", () => {
    const text = `// mine\r\n{ "security": { "auth": { "selectedType": "oauth-personal", "x": 1 } },\r\n\t"ui": {} }`;
    const { point } = homeWith({ ".gemini/settings.json": text });
    expect(settingsIn(point())).toBe(text.replace("oauth-personal", "gemini-api-key"));
    const marked = homeWith({ ".gemini/settings.json": `\uFEFF${text}` });
    expect(settingsIn(marked.point())).toBe(settingsIn(point()));
    const none = homeWith({});
    expect(JSON.parse(settingsIn(none.point()))).toEqual({
      security: { auth: { selectedType: "gemini-api-key" } },
    });
  });

  it("has links to all that the user has, and no Google login", () => {
    const { at, point } = homeWith({
      ".gemini/GEMINI.md": "",
      ".gemini/skills/a/SKILL.md": "",
      ".gemini/mcp-oauth-tokens.json": "",
      ".gemini/oauth_creds.json": "",
      ".gemini/google_accounts.json": "",
      ".gemini/settings.json": "{}",
      ".agents/skills/b/SKILL.md": "",
      "notes/n": "",
    });
    const { links = {} } = point();
    const own = Object.fromEntries(Object.entries(links).filter(([, to]) => to.startsWith(at())));
    expect(own).toEqual({
      ".agents": at(".agents"),
      notes: at("notes"),
      work: at("work"),
      ".gemini/GEMINI.md": at(".gemini/GEMINI.md"),
      ".gemini/skills": at(".gemini/skills"),
      ".gemini/mcp-oauth-tokens.json": at(".gemini/mcp-oauth-tokens.json"),
    });
  });

  it("writes conversations, and additions that the user does not have yet, where they last", () => {
    const { point } = homeWith({ ".gemini/commands/a.toml": "", ".gemini/tmp/x": "" });
    const { links = {}, folders = [] } = point();
    const lasting = Object.entries(links).filter(([, to]) => to.startsWith("/lasting/"));
    expect(lasting.map(([name]) => name.slice(".gemini/".length)).toSorted()).toEqual([
      "GEMINI.md",
      "agents",
      "extensions",
      "history",
      "keybindings.json",
      "policies",
      "skills",
      "state.json",
      "tmp",
    ]);
    expect(folders).toContain("/lasting/tmp");
    const { links: without = {} } = point({}, { lasting: undefined });
    expect(Object.values(without).some((to) => to.includes("lasting"))).toBe(false);
  });

  it("mirrors the home that the user has named for Gemini CLI", () => {
    const { at, point } = homeWith({ "other/.gemini/settings.json": `{"ui": {"a": 1}}` });
    const pointing = point({ GEMINI_CLI_HOME: at("other") });
    expect(settingsIn(pointing)).toContain(`"ui": {"a": 1}`);
    expect(pointing.env?.["GEMINI_CLI_TRUSTED_FOLDERS_PATH"]).toBe(
      at("other", ".gemini", "trustedFolders.json"),
    );
  });

  it.each([
    ["[]", /settings\.json is not JSON: see line 1/],
    [`// mine\n{\n"ui": {},\n}`, /is not JSON: see line 4/],
    [`{"security": 1}`, /has a `security` that is not an object/],
    [`{"a": ${"[".repeat(400_000)}`, /is nested too deep/],
  ])("cannot be made of settings that Gemini CLI cannot read: %.20s", (text, why) => {
    const { point } = homeWith({ ".gemini/settings.json": text });
    expect(() => point()).toThrow(why);
  });
});

describe("a setting that wins over the launch", () => {
  it("refuses the launch if it selects a sign-in that does not ask the gateway", () => {
    const { at, point } = homeWith({ "work/.gemini/settings.json": OAUTH });
    expect(() => point()).toThrow(
      `${at("work/.gemini/settings.json")} sets \`security.auth.selectedType\` to "oauth-personal" and wins over this launch`,
    );
  });

  it("is one of the user's own, if the launch begins in the home", () => {
    const { at, point } = homeWith({ ".gemini/settings.json": OAUTH });
    expect(settingsIn(point())).toContain("gemini-api-key");
    expect(() => point({}, { directory: at() })).toThrow("or start in another folder");
  });

  it.each([
    ["an enforced sign-in", `{"security":{"auth":{"enforcedType":"oauth-personal"}}}`],
    [
      "one that differs from the enforced one",
      `{"security":{"auth":{"enforcedType":"vertex-ai","selectedType":"gemini-api-key"}}}`,
    ],
  ])("refuses the launch for %s", (_, text) => {
    const { point } = homeWith({ "work/.gemini/settings.json": text });
    expect(() => point()).toThrow("`security.auth.enforcedType`");
  });

  it("is followed if it selects Vertex AI, whose requests the gateway answers too", () => {
    for (const field of ["selectedType", "enforcedType"]) {
      const text = `{"security":{"auth":{"${field}":"vertex-ai"}}}`;
      const { point } = homeWith({ "work/.gemini/settings.json": text });
      const pointing = point();
      expect(settingsIn(pointing)).toContain(`"vertex-ai"`);
      expect(pointing.env).toMatchObject({
        GOOGLE_VERTEX_BASE_URL: "http://127.0.0.1:4711",
        GOOGLE_API_KEY: "k",
      });
    }
  });

  it("is not one that names no sign-in, or cannot be read", () => {
    for (const text of ["{}", `{"security":{"auth":{}}}`, "not JSON", "[".repeat(400_000)]) {
      const { point } = homeWith({ "work/.gemini/settings.json": text });
      expect(settingsIn(point())).toContain("gemini-api-key");
    }
  });

  it("replaces an enforced sign-in of the user's own settings", () => {
    const text = `{"security":{"auth":{"enforcedType":"oauth-personal"}}}`;
    const { point } = homeWith({ ".gemini/settings.json": text });
    expect(JSON.parse(settingsIn(point()))).toEqual({
      security: { auth: { enforcedType: "gemini-api-key", selectedType: "gemini-api-key" } },
    });
  });
});

describe("a sandbox that is a container, which cannot reach the gateway", () => {
  it.each<[string, string, Readonly<Record<string, string>>, readonly string[], boolean]>([
    ["a setting", `{"tools":{"sandbox":"docker"}}`, {}, [], true],
    ["a group of settings", `{"tools":{"sandbox":{"enabled":true}}}`, {}, [], true],
    ["a group that is off", `{"tools":{"sandbox":{"enabled":false}}}`, {}, [], false],
    ["a variable", "{}", { GEMINI_SANDBOX: "podman" }, [], true],
    ["an argument", "{}", {}, ["-s"], true],
    [
      "a variable against it",
      `{"tools":{"sandbox":"docker"}}`,
      { GEMINI_SANDBOX: "false" },
      [],
      false,
    ],
    ["no container", "{}", { GEMINI_SANDBOX: "sandbox-exec" }, [], false],
    [
      "the network of the machine",
      "{}",
      { GEMINI_SANDBOX: "1", SANDBOX_FLAGS: "--net=host" },
      [],
      false,
    ],
    ["no sandbox", "{}", {}, [], false],
  ])("is reported by %s", (_, settings, env, args, isReported) => {
    const { point } = homeWith({ ".gemini/settings.json": settings });
    const dotenv = homeWith({ ".gemini/settings.json": settings, ".env": "GEMINI_SANDBOX=false" });
    expect(dotenv.point({}, { args }).note).toBe(undefined);
    const { note = "" } = point(env, { args });
    expect(note.includes("run in a container")).toBe(isReported);
    const remote = point(env, { args, url: "https://patchbay.example.com" });
    expect(remote.note).toBe(undefined);
  });
});

describe("the variables of a launched Gemini CLI", () => {
  it("set those that would choose another sign-in, so that no `.env` file does", () => {
    const { point } = homeWith({ ".env": "GOOGLE_GENAI_USE_VERTEXAI=true" });
    expect(point({ GOOGLE_GENAI_USE_GCA: "true" }).env).toMatchObject({
      GEMINI_CLI_HOME: "/run",
      GEMINI_API_KEY: "k",
      GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:4711",
      GOOGLE_GENAI_USE_VERTEXAI: "",
      GOOGLE_GENAI_USE_GCA: "",
    });
  });

  it("leave it one process without a terminal, since its first one of two ignores signals", () => {
    const { point } = homeWith({});
    const { GEMINI_CLI_NO_RELAUNCH: isAlone } = point().env ?? {};
    expect(isAlone).toBe(isTerminal() ? undefined : "true");
  });

  it.each<[string, Readonly<Record<string, string>>, string, string | undefined]>([
    ["no proxy", { NO_PROXY: "a" }, "", undefined],
    ["a proxy", { HTTPS_PROXY: "http://p" }, "", "127.0.0.1"],
    ["a proxy with exceptions", { http_proxy: "http://p", no_proxy: "a,b" }, "", "a,b,127.0.0.1"],
    ["a proxy of a `.env` file", {}, "HTTPS_PROXY=http://p\nNO_PROXY=c", "c,127.0.0.1"],
    ["a proxy that is unset here", { HTTPS_PROXY: "" }, "HTTPS_PROXY=http://p", undefined],
  ])("except the gateway from %s", (_, env, dotenv, exceptions) => {
    const { point } = homeWith({ "work/.env": dotenv, ".env": "HTTPS_PROXY=http://unread" });
    expect(point(env).env?.["NO_PROXY"]).toBe(exceptions);
    expect(point(env).env?.["no_proxy"]).toBe(exceptions);
  });

  it("except no gateway of another machine, which may be behind the proxy", () => {
    const { point } = homeWith({});
    const { env } = point({ HTTPS_PROXY: "http://p" }, { url: "https://patchbay.example.com" });
    expect(env?.["NO_PROXY"]).toBeUndefined();
  });
});
