import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { trustConfig } from "../src/host/config/load.ts";
import { runCommand } from "../test/support/command.ts";
import { compileCache } from "../test/support/compile-cache.ts";
import { openTerminal } from "../test/terminal/terminal.ts";
import { flags } from "../src/host/config/env.ts";
import { scenes } from "./smoke/scene.ts";

let directory = "";
let running: Patchbay[] = [];
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "patchbay-cli-"))));
afterEach(async () => {
  for (const { child, over } of running.splice(0)) {
    child.kill("SIGKILL");
    await over;
  }
  rmSync(directory, { recursive: true });
});

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };
type Patchbay = {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly over: Promise<Ended>;
  /** Waits until the output so far, or what comes, matches. */
  readonly until: (stream: "out" | "err", pattern: RegExp) => Promise<RegExpExecArray>;
};

const environment = (env: Readonly<Record<string, string>>) => ({
  XDG_CONFIG_HOME: directory,
  HOME: directory,
  ...compileCache,
  ...env,
});

/** Runs a command to its end, in an empty directory with an empty environment. */
async function command(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const { code, out, errors } = await runCommand(args, { directory, env: environment(env) });
  return { code, out, err: errors };
}

/** The same in a process of its own. */
function patchbay(args: readonly string[], env: Readonly<Record<string, string>> = {}): Patchbay {
  return started(process.execPath, [join(import.meta.dirname, "cli.ts"), ...args], env);
}

function started(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Patchbay {
  const child = spawn(command, args, {
    cwd: directory,
    env: environment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.err += text));
  const over = once(child, "close").then(([code]) => ({ code: code as number | null, ...said }));
  const one: Patchbay = {
    child,
    over,
    async until(stream, pattern) {
      for (;;) {
        const found = pattern.exec(said[stream]);
        if (found !== null) return found;
        const more = once(stream === "out" ? child.stdout : child.stderr, "data");
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`it ended: ${said.out}${said.err}`);
        await Promise.race([more, over]);
      }
    },
  };
  running.push(one);
  return one;
}

/** Writes a file; a configuration is trusted, as `patchbay trust` does. */
function write(name: string, text: string): void {
  const file = join(directory, name);
  writeFileSync(file, text);
  if (name !== "patchbay.yaml") return;
  trustConfig(file, { XDG_STATE_HOME: join(directory, ".local", "state") });
}
const listening = /^Patchbay listens on (http:\/\/\S+) \(upstreams: (.*)\)$/m;

async function serving(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Patchbay & { url: string }> {
  const one = patchbay(["serve", "--port", "0", ...args], env);
  const [, url = ""] = await one.until("out", listening);
  return { ...one, url };
}

const ask = (url: string, model: string, key?: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key ?? "none"}` },
    body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "Hi" }] }),
  });

/** What a stream says after its first frame has come. */
async function afterFirst(response: Response, then: () => void): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader?.read())?.value ?? "";
  then();
  for (;;) {
    const step = await reader?.read();
    if (step === undefined || step.done) return text;
    text += step.value;
  }
}

describe("patchbay check", () => {
  it("sums up a good configuration", async () => {
    write(
      "patchbay.yaml",
      "upstreams:\n  far: { dialect: chat, base_url: 'https://example.com/v1?k=s' }\n  demo: { dialect: scripted }\nmodels: { gpt: [far/x, demo/demo] }\n",
    );
    const { code, out, err } = await command(["check"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(
      `${join(directory, "patchbay.yaml")}: no problems.
upstreams:
  far   chat      https://example.com/v1
  demo  scripted
models:
  gpt  ->  far/x, then demo/demo
store:
  sqlite  ${join(directory, ".local/state/patchbay/patchbay.db")}
`,
    );
  });

  it("says how a model is addressed where none is named", async () => {
    write(
      "bare.yaml",
      "upstreams:\n  far: { dialect: chat, base_url: 'https://example.com/v1' }\n",
    );
    const { out } = await command(["check", "--config", "bare.yaml"]);
    expect(out).toContain(
      "models:\n  none by name; clients ask for upstream/model, such as far/MODEL\n",
    );
  });

  it("lists the tenants, and no key", async () => {
    const keys = "[foo, { name: ann, key: s3cret }, { name: ann, key: s3cret2 }]";
    write("keys.yaml", `server: { keys: ${keys} }\n`);
    const { out } = await command(["check", "--config", "keys.yaml"]);
    expect(out).toContain("\ntenants:\n  key-2c26b46b68ff\n  ann\nupstreams:\n");
    expect(out).not.toContain("s3cret");
  });

  it("says which rules for calls hold, whoever set them", async () => {
    write("patchbay.yaml", "tools: { block_max: 4, stop_after: false, block_delimiter: '' }\n");
    const env = { PROXY_TOOL_BLOCK_MAX: "1", PROXY_STOP_AFTER_TOOLS_MODE: "first" };
    const { out } = await command(["check"], env);
    expect(out).toContain("\ntools:\n  block_max        1\n  stop_after_mode  first\n");
    const json = await command(["check", "--json"], env);
    expect(JSON.parse(json.out)).toMatchObject({
      tools: { block_max: 1, stop_after_mode: "first", stop_after: false },
    });
  });

  it("tells every problem and fails", async () => {
    write("bad.yaml", "server:\n  prot: 1\n  host: 0.0.0.0\nmodels:\n  a: nowhere/x\n");
    const { code, out, err } = await command(["check", "--config", "bad.yaml"]);
    const file = join(directory, "bad.yaml");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err.split("\n").map((line) => line.replace(file, "bad.yaml"))).toEqual([
      "bad.yaml:2:3 server.prot: is not a known key; did you mean `port`?",
      expect.stringMatching(/^bad\.yaml:3:3 server\.host: listening on 0\.0\.0\.0 without a key/),
      "bad.yaml:5:3 models.a: there is no upstream `nowhere`; there are demo",
      "",
    ]);

    const json = await command(["check", "--config", "bad.yaml", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      file,
      problems: [{ file, line: 2, column: 3, path: "server.prot" }, {}, {}],
    });
  });
});

describe("files that cannot be written", () => {
  it("are found by a check, with their line", async () => {
    write("patchbay.yaml", "telemetry:\n  event_log: patchbay.yaml/events.ndjson\n");
    const { code, err } = await command(["check"], { TOKEN_LOG_PATH: directory });
    expect(code).toBe(1);
    expect(err.replaceAll(directory, "")).toBe(
      `/patchbay.yaml:2:3 telemetry.event_log: is below a path that is not a directory; choose another path
telemetry.usage_log (from TOKEN_LOG_PATH): is a directory; choose a file in it
`,
    );
  });

  it("are told of once, and requests are served and logged all the same", async () => {
    write("patchbay.yaml", "telemetry:\n  usage_log: .\n");
    const one = await serving();
    await one.until("err", /"msg":"unwritable","setting":"telemetry.usage_log"/);
    const response = await ask(one.url, "demo/demo", "a-secret-key");
    expect(response.status).toBe(200);
    await response.text();
    const [line] = await one.until("err", /^.*"msg":"turn".*$/m);
    const turn = { door: "chat", model: "demo/demo", outcome: "completed" };
    expect(JSON.parse(line)).toMatchObject(turn);
    expect(line).not.toMatch(/secret|Hi/);
    one.child.kill("SIGTERM");
    const { err } = await one.over;
    expect(err.match(/unwritable/g)).toHaveLength(1);
  });
});

describe("patchbay serve", () => {
  it("writes out the last usage line before it stops", async () => {
    write("patchbay.yaml", "telemetry:\n  usage_log: logs/usage.ndjson\n");
    const one = await serving(["--log-level", "silent"]);
    await (await ask(one.url, "demo/demo")).text();
    one.child.kill("SIGTERM");
    await one.over;
    const lines = readFileSync(join(directory, "logs/usage.ndjson"), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: "usage_summary", requested_model: "demo/demo", outcome: "completed" },
    ]);
  });

  it("prints its address and its configuration, is ready, and stops on a signal", async () => {
    const one = await serving(["--log-level", "silent"]);
    expect(one.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${one.url}/readyz`)).status).toBe(200);
    one.child.kill("SIGTERM");
    const { code, out, err } = await one.over;
    expect({ code, out, err }).toEqual({
      code: 0,
      out: `Patchbay listens on ${one.url} (upstreams: demo)\nConfiguration: no file; no provider key is set, so the embedded demo answers\n`,
      err: "",
    });
  });

  it("lets a running stream end before it stops", async () => {
    write("slow.yaml", "- [first, { delay: 300 }, last]\n");
    write("patchbay.yaml", "upstreams: { slow: { dialect: scripted, script: slow.yaml } }\n");
    const one = await serving();
    const text = await afterFirst(await ask(one.url, "slow/x"), () => one.child.kill("SIGTERM"));
    expect(text).toContain("last");
    expect(text.trimEnd()).toMatch(/data: \[DONE\]$/);
    expect((await one.over).code).toBe(0);
  });

  it("waits for a running stream as long as the configuration says by then", async () => {
    const upstreams = "upstreams: { stuck: { dialect: scripted, script: stuck.yaml } }";
    write("stuck.yaml", "- [first, { hang: true }]\n");
    write("patchbay.yaml", `${upstreams}\nserver: { shutdown_grace_ms: 600000 }\n`);
    const one = await serving();
    write("patchbay.yaml", `${upstreams}\nserver: { shutdown_grace_ms: 0 }\n`);
    await one.until("err", /"msg":"reload","ok":true/);
    const text = await afterFirst(await ask(one.url, "stuck/x"), () => one.child.kill("SIGTERM"));
    expect(text).toContain("gateway.stopping");
    expect((await one.over).code).toBe(0);
  });

  it("does not wait after a second signal", async () => {
    write("stuck.yaml", "- [first, { hang: true }]\n");
    write("patchbay.yaml", "upstreams: { stuck: { dialect: scripted, script: stuck.yaml } }\n");
    const one = await serving();
    const ended = afterFirst(await ask(one.url, "stuck/x"), () => one.child.kill("SIGINT"));
    await one.until("err", /stopping on SIGINT/);
    one.child.kill("SIGINT");
    await expect(ended).rejects.toThrow("terminated");
    expect((await one.over).code).toBe(1);
  });

  it.each([
    ["where it was told to", "--with-parent", {}],
    ["where that is npx's", "", { npm_lifecycle_event: "npx" }],
  ])("stops with the shell that started it, %s", async (_, option, more) => {
    const command = `"$NODE" "$CLI" serve --port 0 ${option}; true`;
    const env = { ...more, NODE: process.execPath, CLI: join(import.meta.dirname, "cli.ts") };
    const shell = started("/bin/sh", ["-c", command], env);
    await shell.until("out", listening);
    shell.child.kill();
    expect((await shell.over).err).toContain('"msg":"stopping with its parent"');
  });

  it("takes up a changed file, looks again when told to, and keeps what runs when it is bad", async () => {
    write("patchbay.yaml", "server: { keys: [one] }\n");
    const { url, until, child } = await serving();
    const status = async (key: string): Promise<number> => {
      const response = await ask(url, "demo", key);
      await response.text();
      return response.status;
    };
    expect([await status("one"), await status("two")]).toEqual([200, 401]);

    write("patchbay.yaml", "server: { keys: [two], prot: 1 }\n");
    await until("err", /"ok":false.*did you mean `port`\?/);
    expect([await status("one"), await status("two")]).toEqual([200, 401]);

    child.kill("SIGHUP");
    await until("err", /"ok":false[^]*"ok":false/);
    expect([await status("one"), await status("two")]).toEqual([200, 401]);

    write("patchbay.yaml", "server: { keys: [two] }\n");
    await until("err", /"ok":true/);
    expect([await status("one"), await status("two")]).toEqual([401, 200]);
  });

  it("says what to do about a port that is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { code, out, err } = await patchbay(["serve", "--port", String(port)]).over;
    taken.close();
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe(
      `127.0.0.1:${port} is used by another process; stop that process, or choose another port with \`--port\`.\n`,
    );
  });

  it("refuses to be open to others without a key", async () => {
    const { code, err } = await patchbay(["serve", "--host", "0.0.0.0"]).over;
    expect(code).toBe(1);
    expect(err).toMatch(
      /^server\.host \(from --host\): listening on 0\.0\.0\.0 without a key.+set/,
    );
  });
});

describe("patchbay init", () => {
  it("prints what it would write where nobody can be asked, and writes it when told to", async () => {
    const env = { DEEPSEEK_API_KEY: "canary" };
    const printed = await command(["init"], env);
    expect(printed.code).toBe(0);
    expect(printed.out).toContain("api_key: ${DEEPSEEK_API_KEY}");
    const file = join(directory, "patchbay.yaml");
    expect(existsSync(file)).toBe(false);
    expect((await command(["init", "--yes"], env)).code).toBe(0);
    expect(readFileSync(file, "utf8")).not.toContain("canary");
    const checked = await command(["check"], env);
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining("no problems")]);
  });

  it("replaces a file only by force, and keeps it", async () => {
    const file = join(directory, "patchbay.yaml");
    writeFileSync(file, "# mine\n");
    const again = await command(["init", "--yes"]);
    expect(again.code).toBe(1);
    expect(again.err).toContain("already exists");
    expect(readFileSync(file, "utf8")).toBe("# mine\n");
    const { code, out } = await command(["init", "--force", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ keys: [], agents: [], file });
    expect(readFileSync(`${file}.1.bak`, "utf8")).toBe("# mine\n");
    expect(readFileSync(file, "utf8")).toContain("demo/demo");
  });
});

describe("patchbay health", () => {
  it("is ready, not ready, or not there, by its exit code", async () => {
    await using terminal = openTerminal();
    const { url } = await terminal.open();
    const ready = await command(["health", "--url", `${url}/v1`]);
    expect([ready.code, ready.out]).toEqual([0, `${url} is ready\n  demo: ready\n`]);
    const other = createHttpServer((_, response) => response.end("hello"));
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const nobody = await command(["health", "--url", at, "--json"]);
    other.close();
    expect([nobody.code, JSON.parse(nobody.out)]).toEqual([3, { url: at, ready: false }]);
    expect((await command(["health", "--url", "http://127.0.0.1:9"])).code).toBe(3);
  });
});

describe("patchbay smoke", () => {
  it.each(["127.0.0.1:11435", "localhost:11435", "gateway"])(
    "says how to write an address such as %s",
    async (url) => {
      const { code, err } = await command(["smoke", "--url", url]);
      expect(code).toBe(2);
      expect(err).toContain("Write a full address, such as http://127.0.0.1:11435.");
    },
  );

  it("names the option that does what `--allow-single` did", async () => {
    const { code, err } = await command(["smoke", "--allow-single"]);
    expect(code).toBe(1);
    expect(err).toBe("The option `--allow-single` does not exist; use `--expect 1` instead.\n");
  });

  it("says that no answer could have both so many calls and so few", async () => {
    const { code, err } = await command(["smoke", "--at-most", "1"]);
    expect(code).toBe(1);
    expect(err).toBe("`--at-most 1` is less than `--expect 2`; give `--expect 1` too.\n");
  });

  it("sees a burst, and the way back to single calls by the environment", async () => {
    await using terminal = openTerminal();
    const { url } = await terminal.open();
    expect((await command(["smoke", "--url", url])).code).toBe(0);
    const single = { PROXY_TOOL_BLOCK_MAX: "1", PROXY_STOP_AFTER_TOOLS_MODE: "first" };
    const back = await terminal.open(undefined, single);
    const { code, out } = await command(["smoke", "--url", back.url]);
    expect(code).toBe(1);
    expect(out).toContain("1 call came, expected 2; the gateway withheld the others");
    const held = await command(["smoke", "--url", back.url, "--expect", "1", "--at-most", "1"]);
    expect(held.code).toBe(0);
    expect(held.out).toContain("count=1 truncated=true mode=first");
  });
});

/** Every variable of the older proxy, with a value that it took. */
const olderEnvironment = `
PORT=0 PROXY_HOST=127.0.0.1 PROXY_TRUST_PROXY=loopback PROXY_API_KEY=k PROXY_ENV=prod PROXY_PROTECT_MODELS=true
CODEX_MODEL=gpt-5.2 CODEX_BIN=codex CODEX_HOME=.codex-api PROXY_CODEX_WORKDIR=work CODEX_FORCE_PROVIDER=p
PROXY_SANDBOX_MODE=read-only PROXY_APPROVAL_POLICY=never CODEX_APPROVAL_POLICY=never PROXY_USE_APP_SERVER=true
PROXY_ENABLE_RESPONSES=true PROXY_DEFAULT_STREAM=false PROXY_SSE_KEEPALIVE_MS=15000
PROXY_ENABLE_PARALLEL_TOOL_CALLS=false PROXY_STOP_AFTER_TOOLS=false PROXY_STOP_AFTER_TOOLS_MODE=burst
PROXY_STOP_AFTER_TOOLS_GRACE_MS=300 PROXY_SUPPRESS_TAIL_AFTER_TOOLS=false PROXY_TOOL_BLOCK_MAX=0
PROXY_TOOL_BLOCK_DEDUP=false PROXY_TOOL_BLOCK_DELIMITER=false PROXY_OUTPUT_MODE=obsidian-xml
PROXY_RESPONSES_OUTPUT_MODE=openai-json PROXY_RESPONSES_DEFAULT_MAX_TOKENS=0 PROXY_COPILOT_AUTO_DETECT=false
PROXY_IGNORE_CLIENT_SYSTEM_PROMPT=true PROXY_INGRESS_GUARDRAIL=true PROXY_TITLE_GEN_INTERCEPT=true
PROXY_TITLE_SUMMARY_EXEC_MODEL=m PROXY_TITLE_SUMMARY_EXEC_REASONING_EFFORT=low PROXY_AUTH_LOGIN_URL=false
PROXY_AUTH_LOGIN_URL_MODE=code PROXY_TIMEOUT_MS=300000 PROXY_IDLE_TIMEOUT_MS=15000
PROXY_STREAM_IDLE_TIMEOUT_MS=300000 PROXY_NONSTREAM_TRUNCATE_AFTER_MS=0 PROXY_KILL_ON_DISCONNECT=false
PROXY_ENABLE_CORS=true PROXY_CORS_ALLOWED_ORIGINS=* PROXY_LOG_CORS_ORIGIN=false PROXY_ENABLE_METRICS=false
PROXY_METRICS_ALLOW_UNAUTH=false PROXY_METRICS_ALLOW_LOOPBACK=true PROXY_METRICS_TOKEN=t
PROXY_MAINTENANCE_MODE=false PROXY_SANITIZE_METADATA=false PROXY_CAPTURE_CHAT_TRANSCRIPTS=false
PROXY_CAPTURE_RESPONSES_RAW_TRANSCRIPTS=false WORKER_BACKOFF_INITIAL_MS=500 WORKER_BACKOFF_MAX_MS=5000
WORKER_RESTART_MAX=25 WORKER_STARTUP_TIMEOUT_MS=8000 WORKER_HANDSHAKE_TIMEOUT_MS=15000
WORKER_SHUTDOWN_GRACE_MS=5000 WORKER_MAX_CONCURRENCY=4 WORKER_REQUEST_TIMEOUT_MS=120000
PROXY_RATE_LIMIT_ENABLED=false PROXY_RATE_LIMIT_WINDOW_MS=60000 PROXY_RATE_LIMIT_MAX=60
PROXY_SSE_MAX_CONCURRENCY=4 PROXY_TEST_ENDPOINTS=false PROXY_TEST_ALLOW_REMOTE=false
PROXY_USAGE_ALLOW_UNAUTH=false PROXY_MAX_PROMPT_TOKENS=0 PROXY_MAX_CHAT_CHOICES=5 TOKEN_LOG_PATH=u.ndjson
PROTO_LOG_PATH=p.ndjson SANITIZER_LOG_PATH=s.ndjson SANITIZER_LOG_BASE_DIR=d PROXY_LOG_PROTO=true
PROXY_TRACE_REQUIRED=true PROXY_TRACE_BODY_LIMIT=4096 PROXY_DEBUG_WIRE=1 PROXY_ENABLE_OTEL=false
PROXY_OTEL_EXPORTER_URL=u PROXY_OTEL_SERVICE_NAME=s PROXY_DISABLE_INTERNAL_TOOLS=true
PROXY_ENABLE_WEB_SEARCH_REQUEST=false PROXY_CAPTURE_APP_SERVER_RAW=false PROXY_CAPTURE_THINKING_RAW=false
PROXY_ENABLE_INTERNAL_TOOLS_SHIM=true PROXY_RESPONSES_IDEMPOTENCY=true
PROXY_FORCE_JSONRPC_STREAM_FOR_NONSTREAM=true`;

it("each variable of the older proxy takes effect or is named by `check`", async () => {
  const env = Object.fromEntries(
    olderEnvironment
      .trim()
      .split(/\s+/)
      .map((one): [string, string] => {
        const [name = "", value = ""] = one.split("=");
        return [name, value];
      }),
  );
  const { code, err } = await command(["check"], env);
  const lines = err.split("\n").map((line) => /^(\w+) is set, but/.exec(line)?.[1]);
  const named = new Set(lines);
  expect(code).toBe(0);
  const unnamed = Object.keys(env).filter((name) => !named.has(name));
  expect(unnamed.toSorted()).toEqual(
    Object.keys(flags)
      .filter((name) => name in env)
      .toSorted(),
  );
  expect(err).toContain(
    "PROXY_TIMEOUT_MS is set, but Patchbay does not read it: set `upstreams.NAME.timeouts.headers` and `.idle`.\n",
  );
});

describe("patchbay", () => {
  it("knows its version and shows how it is used", async () => {
    const manifest = readFileSync(join(import.meta.dirname, "../package.json"), "utf8");
    const { version } = JSON.parse(manifest) as { version: string };
    expect((await command(["--version"])).out).toBe(`${version}\n`);
    expect((await command(["--help"])).out).toContain("Examples:");
    const { out: smoke } = await command(["smoke", "--help"]);
    expect(smoke.replaceAll(/\s+/g, " ")).toContain("sixteen requests, in four dialects");
    expect([scenes.length, new Set(scenes.map(({ door }) => door)).size]).toEqual([16, 4]);
  });

  it("says alone what is there and what to do next, and starts nothing", async () => {
    const { code, out } = await command([], { GROQ_API_KEY: "canary" });
    expect(code).toBe(0);
    expect(out).toMatch(/keys +GROQ_API_KEY\n.*\nagents +none\n\n +patchbay init/);
    expect(out).not.toContain("canary");
  });

  it("fails on words it does not know", async () => {
    const { code, err } = await command(["serv"]);
    expect(code).toBe(2);
    expect(err).toContain("Did you mean serve?");
    const port = await command(["serve", "--port", "99999"]);
    expect(port.code).toBe(2);
    expect(port.err).toContain("Give a port from 0");
  });
});
