import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json, type FakeUpstream } from "../support/fake-upstream.ts";
import { serve } from "../support/serve.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

type Report = {
  readonly ok: boolean;
  readonly by: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly checks: readonly Check[];
  readonly probe: { readonly capabilities: unknown; readonly written: unknown } | null;
};

/** A service that takes one key, and whose list of models is open to all. */
async function service(key: string): Promise<FakeUpstream> {
  const fake = await fakeUpstream(({ path, headers, body }) => {
    if (path === "/v1/models") return json({ data: [{ id: "m" }] });
    if (headers.authorization !== `Bearer ${key}`)
      return json({ error: { message: `bad key ${headers.authorization ?? ""}` } }, 401);
    if (body["messages"] === undefined) return json({ error: { message: "no messages" } }, 400);
    if (body["tool_choice"] === "required") return json({ error: { message: "not so" } }, 400);
    if (body["response_format"] !== undefined) return answerInChat(body, { text: "no" });
    const weather = { id: "call_1", name: "get_weather", arguments: '{"city":"Paris"}' };
    return answerInChat(body, body["tools"] === undefined ? { text: "hi" } : { calls: [weather] });
  });
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

const configFor = ({ url }: FakeUpstream): string => `# kept
upstreams:
  it:
    dialect: chat
    base_url: ${url}
    api_key: \${IT_KEY}   # from the environment
models:
  gpt: it/m
`;

async function doctor(terminal: Terminal, args: string[], env: Record<string, string> = {}) {
  const { code, out, errors } = await terminal.patchbayWith(env, "doctor", ...args);
  expect(out + errors).not.toContain("canary");
  return { code, out, errors };
}

async function report(terminal: Terminal, args: string[], env: Record<string, string> = {}) {
  const { code, out } = await doctor(terminal, [...args, "--json"], env);
  return { code, ...(JSON.parse(out) as Report) };
}

const outcome = ({ checks }: Report, id: string): string | undefined =>
  checks.find((check) => check.id === id)?.outcome;

describe("patchbay doctor", { timeout: 120_000 }, () => {
  it("asks the gateway that runs, whose environment is not the shell's", async () => {
    await using terminal = openTerminal();
    const fake = await service("canary-good");
    terminal.configure(configFor(fake));
    await (await terminal.serve([], { IT_KEY: "x" })).stop("SIGKILL");
    await terminal.open(undefined, { IT_KEY: "canary-dead" });
    const found = await report(terminal, [], { IT_KEY: "canary-good", GROQ_API_KEY: "canary" });
    expect([found.code, found.ok, found.by]).toEqual([1, false, "gateway"]);
    expect(outcome(found, "upstream.key")).toBe("wrong");
    expect(outcome(found, "configuration.taken_up")).toBe("ok");
    const environment = found.checks.find(({ id }) => id === "gateway.environment");
    expect(environment?.evidence).toBe(
      "GROQ_API_KEY set here and not for the gateway; IT_KEY set to another value here",
    );
    expect(outcome(found, "machine.sockets")).toBe("note");
    // What is wrong comes first.
    expect(found.checks[0]?.outcome).toBe("wrong");
  });

  it("makes the checks itself where no gateway runs, and says so", async () => {
    await using terminal = openTerminal();
    const fake = await service("canary-good");
    terminal.configure(configFor(fake));
    const good = await report(terminal, [], { IT_KEY: "canary-good" });
    expect([good.code, good.ok, good.by]).toEqual([0, true, "self"]);
    expect(outcome(good, "upstream.key")).toBe("ok");
    expect(outcome(good, "gateway.running")).toBe("note");
    expect(Object.keys(good)).toEqual([
      "code",
      "ok",
      "by",
      "url",
      "file",
      "counts",
      "checks",
      "probe",
    ]);
    const unset = await report(terminal, []);
    expect([unset.code, outcome(unset, "configuration.problem")]).toEqual([1, "wrong"]);
  });

  it("tells a file that is not there and nobody apart by its exit code", async () => {
    await using terminal = openTerminal();
    const lost = await report(terminal, ["--config", "none.yaml"]);
    expect([lost.code, outcome(lost, "configuration.problem")]).toEqual([1, "wrong"]);
    const nobody = await doctor(terminal, ["--url", "http://127.0.0.1:9"]);
    expect([nobody.code, nobody.out]).toEqual([
      3,
      "No gateway answers at http://127.0.0.1:9. To start one: patchbay serve\n",
    ]);
  });

  it("probes by real calls through the running gateway, and writes what it found", async () => {
    await using terminal = openTerminal();
    const fake = await service("canary-good");
    const file = terminal.configure(configFor(fake));
    const gateway = await terminal.serve([], { IT_KEY: "canary-good" });
    const said = await doctor(terminal, ["--probe"]);
    expect(said.errors).toBe("Up to 9 requests go to m at it, and may be billed.\n");
    expect(said.out).toMatch(/^WRONG {4}models {9}it\/m: a call forced by `required`: /);
    expect(said.out).toContain("These capabilities would correct the profile:");
    expect(readFileSync(file, "utf8")).toBe(configFor(fake));
    const found = await report(terminal, ["--probe", "gpt", "--fix"]);
    expect(found.code).toBe(1);
    expect(outcome(found, "probe.required")).toBe("wrong");
    expect(found.probe?.written).toEqual({ file, backup: `${file}.1.bak` });
    expect(readFileSync(`${file}.1.bak`, "utf8")).toBe(configFor(fake));
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/^# kept\n/);
    expect(text).toContain("api_key: ${IT_KEY} # from the environment\n    capabilities:\n");
    // It is taken up, and then there is nothing left to write.
    while (!gateway.errors().includes('"msg":"reload","ok":true'))
      await new Promise((resolve) => gateway.child.stderr.once("data", resolve));
    const again = await report(terminal, ["--fix"]);
    expect(again.probe).toMatchObject({ capabilities: {}, written: null });
  });

  it("refuses to probe a gateway elsewhere, and names smoke", async () => {
    await using terminal = openTerminal();
    await using served = await serve({});
    const { url } = served;
    const { code, checks } = await report(terminal, ["--url", url, "--probe"]);
    expect(code).toBe(1);
    expect(checks.find(({ id }) => id === "probe.model")).toMatchObject({
      outcome: "wrong",
      evidence: "`--probe` needs a gateway of yours on this machine",
      remedy: `To send real requests through this one: patchbay smoke --url ${url}`,
    });
  });

  it("reports credentials that keep a gateway from being opened, as check does", async () => {
    await using terminal = openTerminal();
    terminal.configure(
      "upstreams: { vertex: { dialect: messages, profile: anthropic-vertex, base_url: http://127.0.0.1:9 } }\n",
    );
    const env = { GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/key.json" };
    const { code, checks } = await report(terminal, [], env);
    const evidence =
      "The file /nowhere/key.json with credentials of Google cannot be read (ENOENT)";
    expect(code).toBe(1);
    expect(checks[0]).toMatchObject({ id: "gateway.opened", outcome: "wrong", evidence });
    const { errors } = await terminal.patchbayWith(env, "check");
    expect(errors).toContain(evidence);
    const none = await terminal.patchbayWith({ CLOUDSDK_CONFIG: terminal.home }, "check");
    expect(none.out).toContain(`Google's metadata server (GOOGLE_APPLICATION_CREDENTIALS is not`);
  });

  it("names the agents that are sent to a gateway which is gone", async () => {
    await using terminal = openTerminal();
    const folder = join(terminal.home, "bin");
    mkdirSync(folder);
    for (const name of ["codex", "claude", "gemini", "qwen"])
      writeFileSync(join(folder, name), "#!/bin/sh\n", { mode: 0o755 });
    const gone = await fakeUpstream(() => json({}));
    await gone[Symbol.asyncDispose]();
    const there = await service("x");
    mkdirSync(join(terminal.home, ".codex"));
    const settings = join(terminal.home, ".codex", "config.toml");
    const toml = `# base_url = "${there.url}"\n[model_providers.patchbay]\nbase_url = "${gone.url}"\n[mcp_servers.x]\nurl = "http://127.0.0.1:9/mcp"\n`;
    writeFileSync(settings, toml);
    mkdirSync(join(terminal.home, ".claude"));
    writeFileSync(
      join(terminal.home, ".claude", "settings.json"),
      JSON.stringify({ env: { ANTHROPIC_BASE_URL: there.url, ANTHROPIC_AUTH_TOKEN: "canary" } }),
    );
    mkdirSync(join(terminal.home, ".gemini"));
    const dotenv = join(terminal.home, ".gemini", ".env");
    writeFileSync(dotenv, `A=1\nGOOGLE_GEMINI_BASE_URL=${gone.url}\n`);
    const { code, checks } = await report(terminal, [], { PATH: folder });
    const agents = checks.filter(({ group }) => group === "agents");
    expect(code).toBe(1);
    expect(agents.map(({ subject, outcome: one }) => [subject, one])).toEqual([
      ["Codex CLI", "wrong"],
      ["Gemini CLI", "wrong"],
      ["Qwen Code", "note"],
      ["Claude Code", "ok"],
    ]);
    const { origin } = new URL(gone.url);
    expect(agents[0]?.evidence).toBe(`${settings}:3 sends it to ${origin}, where nothing listens`);
    expect(agents[1]?.evidence).toBe(`${dotenv}:2 sends it to ${origin}, where nothing listens`);
    expect(readFileSync(settings, "utf8")).toBe(toml);
    const { out } = await doctor(terminal, [], { PATH: folder });
    expect(out).toContain(`Codex CLI: ${settings}:3 sends it to ${origin}`);
    expect(out).toContain("2 agents need no attention");
    expect(out).not.toMatch(/Qwen Code|Claude Code/);
  });
});
