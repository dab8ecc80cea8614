import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { turnRow } from "../../src/gateway/run/prices.ts";
import { compileCache } from "../support/compile-cache.ts";
import { turnDone } from "../support/turn-done.ts";

const cli = fileURLToPath(new URL("../../cli/cli.ts", import.meta.url));

const hasScript = /util-linux/.test(
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "",
);
if (!hasScript)
  process.stderr.write("`script` of util-linux is missing: `patchbay top` is not tried\n");

/** A gateway elsewhere with one failed turn, of which it tells no more. */
async function remote(): Promise<AsyncDisposable & { readonly url: string }> {
  const failed = turnDone({ requestId: "r1", model: "gpt", outcome: "failed" });
  const batch = { last: 1, lost: 0, turns: [turnRow(failed, () => undefined)], running: [] };
  const server: Server = createServer((request, response) => {
    const isList = request.url?.startsWith("/v1/turns?") === true;
    const turns = request.url?.includes("last=") === true ? batch : { ...batch, turns: [] };
    response.writeHead(isList ? 200 : 500, { "content-type": "application/json" });
    response.end(JSON.stringify(isList ? turns : { error: { message: "it is broken" } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `patchbay top` at a pseudo-terminal: types each text once the one before it has had its effect. */
async function topAt(
  url: string,
  env: Readonly<Record<string, string>>,
  steps: readonly (readonly [shown: string, typed: string])[],
): Promise<{ readonly code: unknown; readonly shown: string }> {
  const command = `stty cols 140 rows 30; exec "${process.execPath}" "${cli}" top --url ${url} --key x`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    env: {
      ...compileCache,
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      TERM: "xterm-256color",
      ...env,
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exit = once(child, "exit");
  let shown = "";
  let from = 0;
  const left = [...steps];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    shown += piece;
    const [next] = left;
    if (next === undefined || !shown.slice(from).includes(next[0])) return;
    from = shown.length;
    left.shift();
    child.stdin.write(next[1]);
  });
  try {
    const [code] = (await exit) as [unknown];
    return { code, shown };
  } finally {
    child.kill("SIGKILL");
  }
}

describe.skipIf(!hasScript)("top at a terminal", { timeout: 60_000 }, () => {
  it("filters, clears the filter by Esc, and goes on after a turn that cannot be fetched", async () => {
    await using gateway = await remote();
    const { code, shown } = await topAt(gateway.url, {}, [
      ["gpt", "f"],
      ["filter: _", "zz"],
      ["Nothing matches `zz`", "\u001B"],
      ["s sort: time", "\r"],
      ["(HTTP 500): it is broken", "\u001B"],
      ["s sort: time", "q"],
    ]);
    expect(code).toBe(0);
    expect(shown).toContain("\u001B[31m>");
    expect(shown.endsWith("\u001B[?25h\u001B[?1049l")).toBe(true);
  });

  it.each([{ NO_COLOR: "1" }, { TERM: "dumb" }])("uses no colour with %o", async (env) => {
    await using gateway = await remote();
    const { code, shown } = await topAt(gateway.url, env, [["gpt", "q"]]);
    expect(code).toBe(0);
    expect(shown).not.toMatch(/\[\d+m/);
  });
});
