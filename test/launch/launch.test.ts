import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { missing as noClaude } from "../claude/claude.ts";
import { missing as noCodex } from "../codex/codex.ts";
import { serve } from "../support/serve.ts";
import { homeFolder, launch, launching, prepare, programs, running, version } from "./home.ts";

/** An agent that says what it was started with, asks for a word, and ends with a code of its own. */
const asking = `
const body = JSON.stringify({ model: process.env.GOOSE_MODEL, messages: [{ role: "user", content: "Hi" }] });
const headers = { "content-type": "application/json", authorization: "Bearer " + process.env.OPENAI_API_KEY };
fetch(process.env.OPENAI_HOST + "/v1/chat/completions", { method: "POST", headers, body })
  .then((response) => { console.log(response.status, process.argv.slice(2).join("|")); process.exit(7); });
`;

/** The same without its words: it gives the code only to an answer. */
const quiet = asking.replace(
  /console\.log\([^;]*\); process\.exit\(7\)/,
  "process.exit(response.ok ? 7 : 8)",
);

describe("an agent that is launched", () => {
  it("gets its arguments, asks the gateway, and gives its exit code", async () => {
    using home = homeFolder();
    home.program("goose", asking);
    const { code, out, errors } = await launch(home, "goose", "--", "run", "-t", "--json");
    expect({ code, out, errors }).toEqual({
      code: 7,
      out: "200 run|-t|--json\n",
      errors: expect.stringMatching(
        /^Configuration: no file; .*\ngoose on demo through http:.*\n1 turn, 0 tool calls, /,
      ),
    });
    expect(home.left()).toEqual([]);
  });

  it("asks a gateway that runs already, where one is named", async () => {
    using home = homeFolder();
    home.program("goose", quiet);
    await using served = await serve({ server: { keys: ["k1"] } });
    const good = await prepare(home, "goose", "--url", `${served.url}/v1/`, "--key", "k1");
    // The first is the launch's own, to see whether the model answers.
    expect([good.code, served.turns().length]).toEqual([7, 2]);
    const bad = await prepare(home, "goose", "--url", served.url, "--key", "wrong");
    expect(bad.code).toBe(1);
    expect(bad.errors).toMatch(/needs a key/i);
  });

  it("is told of where it asked somebody else", async () => {
    using home = homeFolder();
    home.program("goose", "");
    const { code, errors } = await prepare(home, "goose");
    expect(code).toBe(0);
    expect(errors).toContain("goose sent no request to this gateway.");
  });

  it("hears the signal that ends it", async () => {
    using home = homeFolder();
    const source = `process.on("SIGTERM", () => process.exit(5)); setInterval(() => {}, 1000); console.log("up")`;
    home.program("goose", source);
    const { child, ended } = launching(home, ["goose"]);
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect((await ended).code).toBe(5);
    expect(home.left()).toEqual([]);
  });

  it("must be there, and its name known, and the configuration right", async () => {
    using home = homeFolder();
    expect((await prepare(home, "aider")).errors).toMatch(/not on PATH.*pip install aider-chat/);
    expect((await prepare(home, "opencod")).errors).toContain("Did you mean `opencode`?");
    home.program("goose", asking);
    home.write("work/patchbay.yaml", "upstreams: { a: { dialect: chatt } }\n");
    const { code, errors } = await prepare(home, "goose", "--config", "patchbay.yaml");
    expect(code).toBe(1);
    expect(errors).toMatch(/patchbay\.yaml:1.*dialect/);
  });
});

describe("a launch that is ended by force", () => {
  const idle = `setInterval(() => {}, 1000); console.log(process.pid)`;

  it("leaves nothing where the agent is killed", async () => {
    using home = homeFolder();
    home.program("goose", 'process.kill(process.pid, "SIGKILL")');
    expect((await prepare(home, "goose")).code).toBe(137);
    expect(home.left()).toEqual([]);
  });

  it("has its folder removed by the next one where the gateway is killed", async () => {
    using home = homeFolder();
    home.program("cn", idle);
    const { child, ended } = launching(home, ["continue"]);
    const [pid] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGKILL");
    process.kill(Number(String(pid)), "SIGKILL");
    await ended;
    expect(home.left()).toHaveLength(1);
    home.program("goose", quiet);
    expect((await prepare(home, "goose")).code).toBe(7);
    expect(home.left()).toEqual([]);
  });
});

describe.skipIf(process.platform === "win32")("a folder that an earlier launch left", () => {
  it("is removed only if it is this user's own", async () => {
    using home = homeFolder();
    home.program("goose", quiet);
    const at = (name: string): string => join(home.path, "tmp", `patchbay-launch-${name}`);
    // No process has such a number.
    for (const name of ["99999998-open", "99999998-left"]) mkdirSync(at(name), { mode: 0o700 });
    chmodSync(at("99999998-open"), 0o777);
    const kept = home.write("kept/file", "");
    symlinkSync(join(home.path, "kept"), at("99999998-link"));
    expect((await prepare(home, "goose")).code).toBe(7);
    expect(home.left()).toEqual(["patchbay-launch-99999998-link", "patchbay-launch-99999998-open"]);
    expect(kept()).toBe("");
  });
});

describe("an agent of another version", () => {
  it("is launched with a note", async () => {
    using home = homeFolder();
    home.write(
      "bin/goose",
      `#!${process.execPath}
${version("99.1.0")}${quiet}`,
    );
    const { code, errors } = await prepare(home, "goose");
    expect(code).toBe(7);
    expect(errors).toContain("goose 99.1.0 is newer than 1.35.0");
  });
});

describe("--keep and --restore", () => {
  const settings = `model = "gpt-9"\n[model_providers.other]\nname = "Other"\n`;

  it("change the agent's settings and put them back, with no gateway there", async () => {
    using home = homeFolder();
    const now = home.write(".codex/config.toml", settings);
    const unheard = await prepare(home, "codex", "--keep", "--url", "http://127.0.0.1:9");
    expect([unheard.code, now()]).toEqual([1, settings]);
    const kept = await prepare(
      home,
      "codex",
      "--keep",
      "--url",
      "http://127.0.0.1:9",
      "--model",
      "m",
    );
    expect(kept).toMatchObject({ code: 0, out: expect.stringContaining("codex --restore") });
    expect(now()).toContain('base_url = "http://127.0.0.1:9/v1"');
    const restored = await prepare(home, "codex", "--restore");
    expect(restored).toMatchObject({ code: 0, out: expect.stringContaining("byte for byte") });
    expect(now()).toBe(settings);
  });
});

/** Settings files that no agent has, and what is said of them. */
const odd: readonly (readonly [string, string, string, (file: string) => unknown])[] = [
  ["a folder", "codex", "is a directory", (file) => mkdirSync(file)],
  ["a pipe", "codex", "is not a regular file", (file) => spawnSync("mkfifo", [file])],
  [
    "a string of 9 MB",
    "claude",
    "is longer than 1000000 bytes",
    (file) => writeFileSync(file, `{"a":"${"x".repeat(9_000_000)}"}`),
  ],
  [
    "a string of 900 kB",
    "claude",
    "now selects m through",
    (file) => writeFileSync(file, `{"a":"${"x".repeat(900_000)}"}`),
  ],
  [
    "40,000 lines",
    "codex",
    "now selects m through",
    (file) => writeFileSync(file, "a = 1\n".repeat(40_000)),
  ],
  [
    "no end of brackets",
    "claude",
    "is nested too deep",
    (file) => writeFileSync(file, `{"a":${"[".repeat(500_000)}`),
  ],
  [
    "no end of comments",
    "opencode",
    "is not JSON",
    (file) => writeFileSync(file, `{${"/*".repeat(100_000)}*/"a"`),
  ],
  [
    "one line of blanks",
    "aider",
    "is not a plain mapping",
    (file) => writeFileSync(file, `a${" ".repeat(200_000)}b`),
  ],
];
const settingsFiles: Readonly<Record<string, string>> = {
  codex: ".codex/config.toml",
  claude: ".claude/settings.json",
  opencode: ".config/opencode/opencode.json",
  aider: ".aider.conf.yml",
};

describe.skipIf(process.platform === "win32")("--keep on a settings file that is", () => {
  it.each(odd)("%s neither waits nor harms it", async (what, agent, said, make) => {
    using home = homeFolder();
    // Reading a pipe would stop this process for good.
    const run = what === "a pipe" ? launch : prepare;
    const file = join(home.path, settingsFiles[agent] ?? "");
    mkdirSync(dirname(file), { recursive: true });
    make(file);
    const before = lstatSync(file);
    const textNow = (): string => (before.isFile() ? readFileSync(file, "utf8") : "");
    const text = textNow();
    const url = "http://127.0.0.1:9";
    const kept = await run(home, agent, "--keep", "--url", url, "--model", "m");
    expect(kept.out + kept.errors).toContain(`${file} ${said}`);
    expect(kept.out + kept.errors).not.toContain("    at ");
    const restored = await run(home, agent, "--restore");
    expect(restored.errors).toBe("");
    expect(lstatSync(file).mode).toBe(before.mode);
    expect(textNow() === text).toBe(true);
  });
});

describe.skipIf(noCodex)("Codex CLI whose own settings name another place", () => {
  it("answers from the gateway, and its settings stay as they are", async () => {
    using home = homeFolder();
    const settings = `model = "gpt-9"\nmodel_provider = "other"\n[model_providers.other]\nname = "Other"\nbase_url = "http://127.0.0.1:9/v1"\n[model_providers.patchbay]\nname = "Mine"\nbase_url = "http://127.0.0.1:9/v1"\n`;
    const signIn = home.write(".codex/auth.json", `{"OPENAI_API_KEY":"sk-mine"}`);
    const now = home.write(".codex/config.toml", settings);
    // Without a file Codex itself would be the model: it is signed in.
    home.write("demo.yaml", "upstreams: { demo: { dialect: scripted } }\n");
    const exec = ["exec", "--skip-git-repo-check", "Say hello"];
    const args = ["--config", join(home.path, "demo.yaml"), "--", ...exec];
    const { code, out, errors } = await launch(home, "codex", ...args);
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(out).toContain("Patchbay's built-in demo model");
    expect(errors).toMatch(/1 turn, .*To continue: patchbay launch codex -- resume/);
    expect(errors).not.toMatch(/metadata/i);
    expect(now()).toBe(settings);
    expect(signIn()).toContain("sk-mine");
    expect(home.left()).toEqual([]);
  });

  it("goes there by itself while its settings are kept, and they are put back", async () => {
    using home = homeFolder();
    const settings = `# mine\nmodel = "gpt-9"\nmodel_provider = "other"\n[model_providers.other]\nname = "Other"\nbase_url = "http://127.0.0.1:9/v1"\n`;
    const now = home.write(".codex/config.toml", settings);
    await using served = await serve({});
    expect((await prepare(home, "codex", "--keep", "--url", served.url)).code).toBe(0);
    const { code, out, errors } = await running(home, [
      join(programs, "codex"),
      "exec",
      "--skip-git-repo-check",
      "Say hello",
    ]).ended;
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(out).toContain("Patchbay's built-in demo model");
    expect(errors).not.toMatch(/metadata/i);
    expect((await prepare(home, "codex", "--restore")).code).toBe(0);
    expect(now()).toBe(settings);
  });
});

describe.skipIf(noClaude)("Claude Code whose own settings name another place", () => {
  it("answers from the gateway, and its settings stay as they are", async () => {
    using home = homeFolder();
    const settings = `{"model":"claude-opus-9","apiKeyHelper":"echo sk-mine","env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:9","ANTHROPIC_AUTH_TOKEN":"x","CLAUDE_CODE_USE_BEDROCK":"1"}}`;
    const now = home.write(".claude/settings.json", settings);
    const { code, out, errors } = await launch(home, "claude", "--", "-p", "Say hello");
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(out).toContain("Patchbay's built-in demo model");
    expect(errors).toMatch(/1 turn, /);
    expect(now()).toBe(settings);
    expect(home.left()).toEqual([]);
  });

  it("goes there by itself while its settings are kept, and they are put back", async () => {
    using home = homeFolder();
    const settings = `{\n  "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},\n  "cleanupPeriodDays": 30\n}\n`;
    const now = home.write(".claude/settings.json", settings);
    await using served = await serve({});
    expect((await prepare(home, "claude", "--keep", "--url", served.url)).code).toBe(0);
    const { code, out } = await running(home, [join(programs, "claude"), "-p", "Say hello"]).ended;
    expect(code).toBe(0);
    expect(out).toContain("Patchbay's built-in demo model");
    expect((await prepare(home, "claude", "--restore")).code).toBe(0);
    expect(JSON.parse(now())).toEqual(JSON.parse(settings));
  });
});
