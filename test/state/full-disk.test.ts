import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Body } from "../support/fake-upstream.ts";
import { replica, type Replica } from "../support/replica.ts";

const cli = join(import.meta.dirname, "../../cli/cli.ts");
const missing = spawnSync("prlimit", ["--version"]).status === 0 ? "" : " (needs `prlimit`)";

/** How large a file of the gateway may become: to who writes beyond that, the disk is full. */
const limitFiles = ({ process: { pid } }: Replica, bytes: number | "unlimited"): void =>
  void execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);

type Asked = { readonly id: string; readonly isStored: boolean };

async function ask({ url }: Replica, stream: boolean): Promise<Asked> {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "demo", input: "x".repeat(30_000), stream }),
  });
  const text = await response.text();
  expect([response.status, /"status":"completed"/.test(text)]).toEqual([200, true]);
  const isUnconfirmed = stream
    ? text.includes(": patchbay-store: unconfirmed")
    : response.headers.get("x-patchbay-store") === "unconfirmed";
  return { id: /resp_\w+/.exec(text)?.[0] ?? "", isStored: !isUnconfirmed };
}

/** What is found of a response: its status, and how many items it has and was asked with. */
async function found({ url }: Replica, id: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/v1/responses/${id}`);
  if (response.status !== 200) return [response.status];
  const { output } = (await response.json()) as Body;
  const items = (await (await fetch(`${url}/v1/responses/${id}/input_items`)).json()) as Body;
  return [200, output.length, items["data"].length];
}

describe.skipIf(missing !== "")(`a gateway whose disk is full${missing}`, () => {
  it("answers, names the remedy, and stores all of it when there is room", async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-full-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "store.db");
    await using gateway = await replica({ store: { kind: "sqlite", path } }, "--log-level", "info");
    const before = await ask(gateway, false);
    expect(before.isStored).toBe(true);
    limitFiles(gateway, 400_000);
    const asked = [before];
    while (asked.filter(({ isStored }) => !isStored).length < 4)
      asked.push(await ask(gateway, asked.length % 2 === 0));

    const remedy = `The store ${path} cannot grow`;
    const logged = `"fault":"store.full","problem":"${remedy}`;
    await expect.poll(() => gateway.log()).toContain(logged);
    const status = spawnSync(process.execPath, [cli, "status"], { env: gateway.environment });
    expect(status.stdout.toString()).toContain(remedy);
    // Whole, or to be asked for later: while turns wait to be written none can be found for sure.
    for (const { id } of asked)
      expect([[200, 1, 1], [503]]).toContainEqual(await found(gateway, id));

    limitFiles(gateway, "unlimited");
    const last = asked.at(-1)?.id ?? "";
    await expect.poll(() => found(gateway, last), { timeout: 30_000 }).toEqual([200, 1, 1]);
    for (const { id } of asked) expect(await found(gateway, id)).toEqual([200, 1, 1]);
    expect((await ask(gateway, true)).isStored).toBe(true);
    await expect.poll(() => gateway.log()).toMatch(/"event":"available"[^]*"msg":"turn"/);
    await gateway.kill();
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  }, 90_000);
});
