import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Check } from "../../src/observe/console/wire-checks.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { wordsOfFault, wordsOfFinding } from "./check.ts";
import { digestVariables, environmentChecks, examineConfig, machineChecks } from "./examine.ts";

const summary = (checks: readonly Check[]): string[] =>
  checks.map(({ id, outcome }) => `${id} ${outcome}`);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "patchbay-checks-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

describe("the configuration", () => {
  const origin = (directory: string, env = {}) => ({
    directory,
    file: "patchbay.yaml",
    env: { XDG_CONFIG_HOME: directory, XDG_STATE_HOME: directory, ...env },
  });

  it("is told problem by problem, each with its place and remedy", () => {
    const directory = folder();
    writeFileSync(join(directory, "patchbay.yaml"), "server:\n  prot: 1\nmodels: { a: no/x }\n");
    chmodSync(join(directory, "patchbay.yaml"), 0o644);
    const { checks } = examineConfig(origin(directory));
    expect(checks.map(({ outcome, evidence, remedy }) => [outcome, evidence, remedy])).toEqual([
      [
        "wrong",
        `${directory}/patchbay.yaml:2:3 server.prot: is not a known key`,
        "Did you mean `port`?",
      ],
      [
        "wrong",
        `${directory}/patchbay.yaml:3:11 models.a: there is no upstream \`no\``,
        "There are demo.",
      ],
    ]);
  });

  it("is not that of the gateway where the file was changed since, for good or ill", () => {
    const directory = folder();
    const file = join(directory, "patchbay.yaml");
    writeFileSync(file, "store: memory\n", { mode: 0o600 });
    const { config } = examineConfig(origin(directory));
    const against = (): string[] => summary(examineConfig(origin(directory), config).checks);
    expect(against()).toEqual(["configuration.valid ok", "configuration.taken_up ok"]);
    writeFileSync(file, "store: off\n");
    expect(against()).toContain("configuration.taken_up note");
    writeFileSync(file, "store: [\n");
    expect(against()).toContain("configuration.taken_up wrong");
  });

  it.skipIf(process.platform === "win32")(
    "must not let others read keys, nor change where they go",
    () => {
      const directory = folder();
      const file = join(directory, "patchbay.yaml");
      const upstream = (key: string): string =>
        `upstreams: { a: { dialect: chat, base_url: "http://127.0.0.1:9/v1", api_key: "${key}" } }\n`;
      const found = (text: string, mode: number): readonly Check[] => {
        writeFileSync(file, text);
        chmodSync(file, mode);
        return examineConfig(origin(directory, { KEY: "k" })).checks.filter(
          ({ id }) => id === "configuration.permissions",
        );
      };
      const [readable] = found(upstream("canary"), 0o644);
      expect(readable).toMatchObject({ outcome: "wrong", remedy: `chmod 600 ${file}` });
      expect(readable?.evidence).toContain("upstreams.a.api_key");
      expect(JSON.stringify(readable)).not.toContain("canary");
      expect(found(upstream("canary"), 0o600)).toEqual([]);
      expect(found(upstream("${KEY}"), 0o644)).toEqual([]);
      expect(found(upstream("${KEY}"), 0o666)[0]).toMatchObject({ remedy: `chmod go-w ${file}` });
    },
  );
});

describe("the machine", () => {
  const now = Date.parse("2026-11-16T00:00:00Z");
  const state = { env: {}, config: undefined, dates: new Map<string, string>(), now };

  it("has a clock that is right by one of the upstreams at least", () => {
    const at = (...dates: string[]): string | undefined =>
      machineChecks({ ...state, dates: new Map(dates.map((date, one) => [`u${one}`, date])) }).find(
        ({ id }) => id === "machine.clock",
      )?.outcome;
    expect(at("Mon, 16 Nov 2026 00:00:10 GMT")).toBe("ok");
    expect(at("Mon, 16 Nov 2026 01:00:00 GMT")).toBe("wrong");
    expect(at("Mon, 16 Nov 2026 01:00:00 GMT", "Mon, 16 Nov 2026 00:00:01 GMT")).toBe("ok");
    expect(at("", "yesterday")).toBeUndefined();
  });

  it("must check certificates, and find those that it is told of", () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_EXTRA_CA_CERTS: "/no/such/file" };
    expect(summary(machineChecks({ ...state, env }))).toEqual([
      "machine.node ok",
      "machine.certificates wrong",
      "machine.certificates wrong",
    ]);
  });

  it("names a proxy by its host alone", () => {
    const config = parseConfig({
      upstreams: {
        far: { dialect: "chat", base_url: "https://example.com/v1" },
        here: { dialect: "chat", base_url: "http://127.0.0.1:9/v1" },
      },
    });
    const env = { HTTPS_PROXY: "http://user:canary@proxy.example:3128" };
    const proxy = machineChecks({ ...state, config, env }).find(({ id }) => id === "machine.proxy");
    expect(proxy).toMatchObject({ subject: "proxy.example:3128", outcome: "note" });
    expect(proxy?.evidence).toMatch(/^far is reached/);
    expect(JSON.stringify(proxy)).not.toContain("canary");
  });

  it("has room where past answers are kept", () => {
    const directory = folder();
    mkdirSync(join(directory, "a"));
    const config = parseConfig({
      store: { kind: "sqlite", path: join(directory, "a/b/c/patchbay.db") },
    });
    expect(summary(machineChecks({ ...state, config }))).toContain("machine.disk ok");
  });
});

describe("the environment of a gateway", () => {
  it("is compared by digests that are others every time", () => {
    const env = { GROQ_API_KEY: "canary", MINE: "canary" };
    const [one, two] = [digestVariables(env, ["MINE"]), digestVariables(env, ["MINE"])];
    expect(one.digests["MINE"]).not.toBe(two.digests["MINE"]);
    expect(JSON.stringify(one)).not.toContain("canary");
    expect(environmentChecks(one, env)).toMatchObject([{ outcome: "ok" }]);
    const [check] = environmentChecks(one, { GROQ_API_KEY: "other", XAI_API_KEY: "x" });
    expect(check).toMatchObject({ outcome: "note" });
    expect(check?.evidence).toBe(
      "XAI_API_KEY set here and not for the gateway; MINE set for the gateway and not here; GROQ_API_KEY set to another value here",
    );
  });
});

describe("words of messages", () => {
  it("are parted into what is wrong and what to do", () => {
    expect(wordsOfFault({ message: "It is down (503). Wait for v1.2." })).toEqual([
      "It is down (503)",
      "Wait for v1.2.",
    ]);
    expect(wordsOfFault({ message: "It is down." })[0]).toBe("It is down");
    expect(wordsOfFinding("a.yaml:1 x: is no number; write one")).toEqual([
      "a.yaml:1 x: is no number",
      "Write one.",
    ]);
  });
});
