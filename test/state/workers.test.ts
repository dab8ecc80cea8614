import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { replica, type Replica } from "../support/replica.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-workers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The processes that a process has started, as Linux lists them. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((part) => part.trim() !== "")
    .map(Number);

/** On a connection of its own, so that any of the workers may take it. */
async function post(to: Replica, body: unknown): Promise<Body> {
  const response = await fetch(`${to.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify(body),
  });
  const got = (await response.json()) as Body;
  if (response.status !== 200) throw new Error(JSON.stringify(got));
  return got;
}

describe.skipIf(process.platform !== "linux")("`serve --workers`", () => {
  it("shares one port and one store, and replaces a worker that dies", async () => {
    await using upstream = await fakeUpstream(({ body }) =>
      answerInChat(body, { text: `Answer ${(body["messages"] as Body[]).length}.` }),
    );
    const config = {
      upstreams: { fake: { dialect: "chat", base_url: upstream.url, retries: 0 } },
      models: { "*": "fake/m" },
      store: { kind: "sqlite", path: join(folder, "store.db") },
    } as const;
    await using served = await replica(config, "--workers", "2");
    const pid = served.process.pid ?? 0;
    const before = childrenOf(pid);
    expect(before).toHaveLength(2);
    let previous: string | undefined;
    for (let turn = 0; turn < 20; turn++) {
      const body = { model: "m", input: `Turn ${turn}`, previous_response_id: previous };
      if (turn === 10) process.kill(before[0] ?? 0, "SIGKILL");
      const answer = await post(served, body).catch(() => post(served, body));
      expect(answer["output"][0].content[0].text).toBe(`Answer ${2 * turn + 1}.`);
      previous = answer["id"] as string;
    }
    while (childrenOf(pid).length < 2) await new Promise((done) => setTimeout(done, 20));
    expect(childrenOf(pid)).not.toContain(before[0]);
  }, 60_000);

  it("is refused where each worker would have a store of its own", () => {
    const file = join(folder, "memory.json");
    writeFileSync(file, JSON.stringify({ store: { kind: "memory" } }));
    const cli = join(import.meta.dirname, "../../src/host/cli/cli.ts");
    const run = spawnSync(
      process.execPath,
      [cli, "serve", "--config", file, "--port", "0", "--workers", "2"],
      { env: { PATH: process.env["PATH"], HOME: folder }, encoding: "utf8" },
    );
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("set `store.kind` to `sqlite` or `postgres`");
  });
});
