import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle } from "../../src/observe/recording/bundle.ts";
import { replayAgainst } from "../../src/observe/recording/replay/replay-against.ts";
import { runCommand, type CommandOutput } from "../support/command.ts";
import { compileCache } from "../support/compile-cache.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream } from "../support/fake-upstream.ts";
import { forged, lineOf, used, type ForgedLine } from "./forged.ts";

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const cli = path("cli/cli.ts");
const sound = readFileSync(path("test/bundles/responses-on-chat.bundle.jsonl"), "utf8");
const isWindows = process.platform === "win32";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "patchbay-hostile-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const wordsFor = (command: string, file: string): string[] => [
  command,
  file,
  ...(command === "bundle" ? ["--preview"] : []),
];

const environment = { ...compileCache, PATH: process.env["PATH"] };
const compiled = compileCache.NODE_COMPILE_CACHE;

/** Runs a command on a file in a process that may start nothing and write only compiled modules. */
function runGuarded(command: string, file: string) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      "--permission",
      "--allow-fs-read=*",
      `--allow-fs-write=${compiled}/*`,
      cli,
      ...wordsFor(command, file),
    ],
    { cwd: folder, encoding: "utf8", env: { ...environment, HOME: folder } },
  );
  return { code: status, out: stdout, errors: stderr };
}

const run = (command: string, file: string): Promise<CommandOutput> =>
  runCommand(wordsFor(command, file), {
    directory: folder,
    env: { ...environment, HOME: folder },
  });

function written(bundle: string): string {
  const file = join(folder, "forged.bundle.jsonl");
  writeFileSync(file, bundle);
  return file;
}

/** The bundle with other settings for its upstream. */
const withUpstream = (settings: Record<string, unknown>, text = sound): string =>
  forged(text, (lines) => {
    lineOf(lines, "settings")["upstreams"] = { fake: settings };
  });

const having =
  (kind: string, fields: Record<string, unknown>) =>
  (lines: ForgedLine[]): void =>
    void Object.assign(lineOf(lines, kind), fields);

describe("a bundle of unknown origin", { timeout: 60_000 }, () => {
  it.each(["replay", "explain", "bundle"])("needs no more than to be read: %s", (command) => {
    const { code, out, errors } = runGuarded(command, written(sound));
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(out).not.toBe("");
  });

  it.skipIf(isWindows)("starts no program that it names", async () => {
    const [program, marker] = [join(folder, "program"), join(folder, "marker")];
    writeFileSync(program, `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    const settings = { dialect: "codex", command: program, home: folder, base_path: "/v1" };
    const { code, out, errors } = await run("replay", written(withUpstream(settings)));
    expect(existsSync(marker)).toBe(false);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(errors).toMatch(/^The bundle .*upstreams\.fake.*command.*as it was recorded\.\n$/);
  });

  it.each([
    ["a program", { dialect: "codex", command: "/bin/sh" }],
    ["a program on PATH", { dialect: "codex", base_path: "/v1" }],
    ["a home", { dialect: "codex", home: "/tmp" }],
    ["a script", { dialect: "scripted", script: "/etc/passwd" }],
    ["a script and a path", { dialect: "scripted", base_path: "/v1" }],
    ["an address", { dialect: "chat", base_url: "http://127.0.0.1:9/v1" }],
    ["a host before its path", { dialect: "chat", base_path: "@127.0.0.1:9/v1" }],
    ["the rest of a host", { dialect: "chat", base_path: ".example.com/v1" }],
    ["a key", { dialect: "chat", base_path: "/v1", api_key: "x" }],
    ["headers", { dialect: "chat", base_path: "/v1", headers: { host: "x" } }],
    ["timeouts", { dialect: "chat", base_path: "/v1", timeouts: { idle: 1 } }],
    ["a profile that there is not", { dialect: "chat", base_path: "/v1", profile: "../x" }],
    ["a dialect that there is not", { dialect: "__proto__", base_path: "/v1" }],
    ["a capability that there is not", { dialect: "chat", base_path: "/", capabilities: { x: 1 } }],
    [
      "a pattern for names",
      {
        dialect: "chat",
        base_path: "/",
        capabilities: { tools: { names: { chars: "a](x+)+[b" } } },
      },
    ],
    ["too many retries", { dialect: "chat", base_path: "/v1", retries: 1e9 }],
  ])("is refused with the settings of an upstream that name %s", async (_, settings) => {
    expect(await used(withUpstream(settings))).toMatch(/^The bundle |settings in the bundle/);
  });

  it.each<[string, (lines: ForgedLine[]) => void]>([
    ["a request with headers of its own", having("client-request", { headers: { cookie: "a=b" } })],
    ["a request to no path", having("client-request", { path: "http://127.0.0.1:9/" })],
    ["a request by no method", having("client-request", { method: "GET / HTTP/1.1" })],
    [
      "an answer with other headers",
      having("upstream-head", { headers: { location: "http://x" } }),
    ],
    ["a status that there is not", having("upstream-head", { status: 1e9 })],
    ["a time that never comes", having("upstream-bytes", { at: 1e300 })],
    ["a time before all others", having("client-end", { at: -1 })],
    ["no date", having("bundle", { recorded: "soon" })],
    ["a plan of other values", having("plan", { plan: { upstream: { toString: 1 } } })],
    ["an account of other values", having("done", { done: { door: ["chat"], calls: null } })],
    ["a store", having("settings", { store: { kind: "sqlite", path: "x.db" } })],
    ["telemetry", having("settings", { telemetry: { usage_log: "x.log" } })],
    ["tools of other settings", having("settings", { tools: { output: { a: 1 }, file: "x" } })],
    ["a deep value", having("upstream-head", { extra: deep(300) })],
    [
      "an event that there is not",
      (lines) => {
        lines.push({ line: "upstream-event", at: 1, try: 9, event: { type: "exec", text: "x" } });
      },
    ],
    [
      "a call of a huge number",
      (lines) => {
        const event = { type: "call-delta", choice: 1e12, call: 1e12, text: "x" };
        lines.push({ line: "upstream-event", at: 1, try: 9, event });
      },
    ],
  ])("is refused with %s", async (_, change) => {
    expect(await used(forged(sound, change))).toMatch(/^The bundle |settings in the bundle/);
  });

  it.each<[string, (lines: ForgedLine[]) => void]>([
    [
      "names that every object has",
      (lines) => {
        const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
        const own = { dialect: "chat", base_path: "/v1" };
        const settings = lineOf(lines, "settings");
        settings["upstreams"] = Object.fromEntries(names.map((name) => [name, own]));
        settings["models"] = Object.fromEntries(names.map((name) => [name, [`${name}/${name}`]]));
        lineOf(lines, "upstream-request")["upstream"] = "__proto__";
      },
    ],
    [
      "a body nested without end",
      (lines) => {
        for (const kind of ["client-request", "upstream-request"])
          lineOf(lines, kind)["body"] = `{"model":"m","input":${"[".repeat(200_000)}`;
      },
    ],
    [
      "an answer nested deep",
      (lines) => {
        const data = JSON.stringify(deep(5_000));
        lineOf(lines, "upstream-bytes")["text"] = `data: ${data}\n\n`;
        lineOf(lines, "client-bytes")["text"] = `data: ${data}\n\n`;
      },
    ],
    [
      "names of models that nearly fit",
      (lines) => {
        const models = [{ match: `${"*a".repeat(40)}b`, fields: {} }];
        const fake = { dialect: "chat", base_path: "/v1", capabilities: { models } };
        const settings = lineOf(lines, "settings");
        settings["upstreams"] = { fake };
        settings["models"] = { m: [`fake/${"a".repeat(250)}`] };
      },
    ],
    [
      "an answer without an end",
      (lines) => {
        lines.push({ line: "upstream-end", at: 9, try: 1, error: "stopped" });
        lineOf(lines, "upstream-bytes")["text"] = "data: ";
      },
    ],
    [
      "thousands of calls of one number",
      (lines) => {
        const request = lineOf(lines, "upstream-request");
        const bytes = lineOf(lines, "upstream-bytes");
        for (let at = 0; at < 20_000; at++) lines.push({ ...request }, { ...bytes, text: "x" });
      },
    ],
  ])("does no harm by %s", async (_, change) => {
    const outcome = await used(forged(sound, change));
    expect(outcome).not.toBe("");
    expect(({} as Record<string, unknown>)["dialect"]).toBeUndefined();
  });

  it("moves no cursor of the terminal that shows it", async () => {
    const text = "\u001B]0;owned\u0007\u009B2J\u202Etxt";
    const file = written(
      forged(sound, (lines) => {
        lineOf(lines, "bundle")["left_out"] = [text];
        lineOf(lines, "bundle")["id"] = text;
        const plan = lineOf(lines, "plan")["plan"] as Record<string, unknown>;
        plan["profile"] = text;
      }),
    );
    for (const command of ["explain", "replay", "bundle"]) {
      const { out, errors } = await run(command, file);
      expect(out).toContain("owned");
      expect(out + errors).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
    }
  });

  it.skipIf(isWindows)("is read from a file alone, and not without end", async () => {
    const [pipe, huge] = [join(folder, "pipe"), join(folder, "huge.bundle.jsonl")];
    execFileSync("mkfifo", [pipe]);
    writeFileSync(huge, "");
    truncateSync(huge, 200_000_000);
    for (const file of [pipe, folder, huge]) {
      // Reading a pipe would stop this process for good.
      const { code, out, errors } = await (file === pipe ? runGuarded : run)("explain", file);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(errors).toMatch(/cannot be read because it is .*; name a \.bundle\.jsonl file\.\n$/);
    }
  });
});

/** Lists in lists. */
function deep(levels: number): unknown {
  let value: unknown = "x";
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe("a bundle of unknown origin that is asked of a live upstream", () => {
  /** Asks it, and tells which models of which upstreams were asked. */
  async function asked(change: (lines: ForgedLine[]) => void) {
    await using named = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello" }));
    await using other = await fakeUpstream(({ body }) => answerInChat(body, { text: "Hello" }));
    const upstreams = {
      named: { dialect: "chat", base_url: named.url, api_key: "key-of-named" },
      other: { dialect: "chat", base_url: other.url, api_key: "key-of-other" },
    } as const;
    const config = parseConfig({ upstreams, models: { dear: "other/dear", "*": "other/any" } });
    const bundle = readBundle(forged(sound, change));
    const platform = nodePlatform();
    let problem = "";
    try {
      await replayAgainst(bundle, { against: "named/m", config, platform });
    } catch (error) {
      problem = String(error);
    }
    const seen = named.requests.map(({ path: to, headers, body }) => ({
      to,
      key: headers.authorization,
      model: body["model"] as unknown,
    }));
    return { problem, seen, others: other.requests.length };
  }
  const own = { to: "/v1/chat/completions", key: "Bearer key-of-named", model: "m" };
  const asking = (fields: Record<string, unknown>) => (lines: ForgedLine[]) => {
    const request = lineOf(lines, "client-request");
    const body = { ...(JSON.parse(String(request["body"])) as object), ...fields };
    request["body"] = JSON.stringify(body);
  };

  it.each([
    ["the recorded model", {}],
    ["another name of the configuration", { model: "dear" }],
    ["another upstream", { model: "other/dear" }],
    ["another model of the upstream", { model: "named/dear" }],
    ["a name that leads anywhere", { model: "whatever" }],
  ])("asks what the user named, and not %s", async (_, fields) => {
    const { seen, others } = await asked(asking(fields));
    expect({ seen, others }).toEqual({ seen: [own], others: 0 });
  });

  it.each([
    ["the lists of models", { method: "GET", path: "/v1/models" }],
    ["another path", { path: "/admin" }],
    ["another method", { method: "DELETE" }],
    ["a path above", { path: "/v1/../../responses" }],
  ])("asks nothing of %s", async (_, fields) => {
    const { problem, seen, others } = await asked(having("client-request", fields));
    expect({ seen, others }).toEqual({ seen: [], others: 0 });
    expect(problem).toMatch(/Fault: (?:The recorded request is|There is no|\/v1)/);
  });
});
