import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { responsesToolLoop } from "../support/fake-dialects.ts";
import { ask, childEvents, missing, openCodex } from "./gateway.ts";

function ownHome(): string {
  const home = mkdtempSync(join(tmpdir(), "patchbay-codex-disk-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  return home;
}

describe.skipIf(missing)("the home of the real codex app-server", () => {
  it("has a log that takes nothing, where Codex would write calls and their results", async () => {
    const home = ownHome();
    await using gateway = await openCodex(responsesToolLoop, { home });
    expect((await ask(gateway)).status).toBe(200);
    expect(childEvents(gateway, "keeps-log")).toBe(0);
    const logs = readdirSync(home).filter((name) => /^logs_.*\.sqlite$/.test(name));
    expect(logs).toHaveLength(1);
    using log = new DatabaseSync(join(home, logs[0] ?? ""), { timeout: 2000 });
    log.exec("INSERT INTO logs (ts, ts_nanos, level, target) VALUES (1, 1, 'INFO', 'said')");
    expect(log.prepare("SELECT count(*) AS lines FROM logs").get()).toEqual({ lines: 0 });
  });

  it.each([
    ["a file", () => fileURLToPath(import.meta.url)],
    ["in a file", () => join(fileURLToPath(import.meta.url), "home")],
    ["where there can be no folders", () => "/proc/patchbay-home"],
  ])("is named, with what to do, where it is %s", async (_, home) => {
    await using gateway = await openCodex(responsesToolLoop, { home: home() });
    const { status, body } = await ask(gateway);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.unreachable"]);
    expect(body["error"]?.message).toContain(home());
    expect(body["error"]?.message).toMatch(/cannot write to its home.*`upstreams\.codex\.home`/);
  });

  it("is not taken from somebody who has put his own configuration there", async () => {
    const home = ownHome();
    const theirs = 'model = "mine"\n';
    writeFileSync(join(home, "config.toml"), theirs);
    await using gateway = await openCodex(responsesToolLoop, { home });
    const { status, body } = await ask(gateway);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.unreachable"]);
    expect(body["error"]?.message).toMatch(/config\.toml.*`upstreams\.codex\.home`/);
    expect(readFileSync(join(home, "config.toml"), "utf8")).toBe(theirs);
  });
});
