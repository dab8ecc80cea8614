import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findGateways } from "../../src/host/control/files.ts";
import { compileCache } from "../support/compile-cache.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { replica, type Replica } from "../support/replica.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-workers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The processes that a process has started, as Linux lists them. */
const childrenOf = ({ process: { pid } }: Replica): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((part) => part.trim() !== "")
    .map(Number);

/** How many workers of it answer: those that listen, and not those that are only started. */
async function serving({ environment }: Replica): Promise<number | undefined> {
  const [gateway] = await findGateways(environment);
  return gateway?.sockets.length;
}

/** For as long as a loaded machine takes to start processes, one after a pause. */
const patient = { timeout: 40_000, interval: 50 };

/** Ends processes of it at once, and waits until it has noticed. */
async function kill(of: Replica, workers: readonly number[]): Promise<void> {
  for (const worker of workers) process.kill(worker, "SIGKILL");
  await expect
    .poll(() => childrenOf(of).filter((child) => workers.includes(child)), patient)
    .toEqual([]);
}

const isHealthy = async ({ url }: Replica): Promise<boolean> =>
  fetch(`${url}/healthz`, { headers: { connection: "close" } }).then(
    ({ ok }) => ok,
    () => false,
  );

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

/** Runs a command to its end. */
const patchbay = (args: readonly string[], env: Replica["environment"]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, "../../cli/cli.ts"), ...args], {
    env: { ...env },
    encoding: "utf8",
    timeout: 40_000,
  });

function runServe(config: object, port: number) {
  const file = join(folder, "run.json");
  writeFileSync(file, JSON.stringify(config));
  const args = ["serve", "--config", file, "--port", String(port), "--workers", "2"];
  return patchbay(args, { ...compileCache, PATH: process.env["PATH"], HOME: folder });
}

const stateless = { upstreams: { demo: { dialect: "scripted" } }, store: "off" } as const;

describe.skipIf(process.platform !== "linux")("`serve --workers`", { timeout: 60_000 }, () => {
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
    await expect.poll(() => serving(served), patient).toBe(2);
    const before = childrenOf(served);
    expect(before).toHaveLength(2);
    let previous: string | undefined;
    for (let turn = 0; turn < 20; turn++) {
      const body = { model: "m", input: `Turn ${turn}`, previous_response_id: previous };
      if (turn === 10) process.kill(before[0] ?? 0, "SIGKILL");
      const answer = await post(served, body).catch(() => post(served, body));
      expect(answer["output"][0].content[0].text).toBe(`Answer ${2 * turn + 1}.`);
      previous = answer["id"] as string;
    }
    await expect.poll(() => serving(served), patient).toBe(2);
    expect(childrenOf(served)).not.toContain(before[0]);
    const all = patchbay(["status", "--json"], served.environment);
    expect(JSON.parse(all.stdout)).toMatchObject([{ workers: { count: 2, answering: 2 } }]);
  });

  let served: Replica;
  beforeAll(async () => {
    served = await replica(stateless, "--workers", "2", "--log-level", "info");
  });
  afterAll(() => served[Symbol.asyncDispose]());

  it("sums its metrics over all workers, those that died included, and no counter goes down", async () => {
    await expect.poll(() => serving(served), patient).toBe(2);
    const scraped: number[] = [];
    const counted = async (): Promise<number> => {
      const response = await fetch(`${served.url}/metrics`, { headers: { connection: "close" } });
      const lines = (await response.text()).split("\n");
      const amounts = lines.filter((line) => line.startsWith("patchbay_turns_total{"));
      const sum = amounts.reduce((all, line) => all + Number(line.split(" ").at(-1)), 0);
      scraped.push(sum);
      return sum;
    };
    let sent = 0;
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          await post(served, { model: "demo/demo", input: "Hello" });
          sent++;
        }),
      );
      await expect.poll(counted, patient).toBe(sent);
      if (round !== 9) continue;
      // A worker sends its metrics a moment after they changed, or when any is asked.
      await kill(served, childrenOf(served).slice(0, 1));
    }
    expect(scraped.length).toBeGreaterThanOrEqual(20);
    expect(scraped).toEqual(scraped.toSorted((a, b) => a - b));
    expect(scraped.at(-1)).toBe(120);
  });

  it("serves by each of its workers, and at the same port again when all died at once", async () => {
    await expect.poll(() => serving(served), patient).toBe(2);
    for (const worker of childrenOf(served)) {
      process.kill(worker, "SIGSTOP");
      expect(await isHealthy(served)).toBe(true);
      process.kill(worker, "SIGCONT");
    }
    await kill(served, childrenOf(served));
    await expect.poll(() => serving(served), patient).toBe(2);
    expect(await isHealthy(served)).toBe(true);
  });

  it("starts a worker that cannot start again until it can, and its status says meanwhile that one is missing", async () => {
    await expect.poll(() => serving(served), patient).toBe(2);
    writeFileSync(served.file, "{");
    await kill(served, childrenOf(served).slice(0, 1));
    await expect.poll(() => served.log(), patient).toMatch(/worker \d+ ended \(1\)/);
    const one = patchbay(["status"], served.environment);
    expect([one.status, one.stdout]).toEqual([
      1,
      expect.stringMatching(
        /with 1 of 2 workers, .*\n {2}WRONG {2}workers: 1 of 2 workers answer; /,
      ),
    ]);
    writeFileSync(served.file, JSON.stringify(stateless));
    await expect.poll(() => serving(served), patient).toBe(2);
  });

  it("ends with what is wrong where its port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { status, stderr } = runServe(stateless, (other.address() as AddressInfo).port);
    other.close();
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^127\.0\.0\.1:\d+ is used by another process; .+\n$/),
    ]);
  });

  it("is refused where each worker would have a store of its own", () => {
    const { status, stderr } = runServe({ store: { kind: "memory" } }, 0);
    expect(status).toBe(1);
    expect(stderr).toContain("set `store.kind` to `sqlite` or `postgres`");
  });
});
