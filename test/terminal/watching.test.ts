import { once } from "node:events";
import { renameSync } from "node:fs";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import type { FeedBatch } from "../../src/observe/console/wire.ts";
import type { WatchedBatch } from "../../cli/gateways.ts";
import { openTerminal } from "./terminal.ts";

const CANARY = "canary-7f3a91";

const ask = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      model: "demo",
      messages: [{ role: "user", content: `What is the weather in ${CANARY}?` }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            parameters: { type: "object", properties: { city: { type: "string" } } },
          },
        },
      ],
    }),
  });

/** An answer without what differs from one to the next. */
const steady = (text: string): string =>
  text.replaceAll(/(?:chatcmpl|call)[-_]\w+/g, "ID").replaceAll(/"created":\d+/g, "");

describe.skipIf(process.platform === "win32")("watching a gateway", { timeout: 120_000 }, () => {
  it("shows turns as they come and changes no byte of them, and no secret is told", async () => {
    await using terminal = openTerminal();
    const key = `key-${CANARY}`;
    const { url } = await terminal.open(undefined, { PATCHBAY_API_KEY: key });
    const headers = { authorization: `Bearer ${key}`, "session-id": CANARY };
    const unwatched = await (await ask(url, headers)).text();
    const top = terminal.start(["top", "--json"]);
    const lines = createInterface({ input: top.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<FeedBatch> =>
      JSON.parse(String((await lines.next()).value)) as FeedBatch;
    const first = await next();
    expect(first.turns).toMatchObject([{ type: "turn", outcome: "completed", status: 200 }]);
    const watched = await (await ask(url, { ...headers, "x-request-id": "req-2" })).text();
    let second = await next();
    while (second.turns.length === 0) second = await next();
    expect(second.turns).toMatchObject([{ requestId: "req-2", calls: { given: 1 } }]);
    expect(steady(watched)).toBe(steady(unwatched));
    const told = await terminal.patchbay("logs", "--turn", "req-2", "--json");
    const all = await terminal.patchbay("logs", "--json");
    const status = await terminal.patchbay("status", "--json");
    const said = [first, second, told.out, all.out, status.out].map((one) => JSON.stringify(one));
    expect(said.join("")).not.toContain(CANARY);
    expect(told.out).toContain("get_weather");
    top.kill("SIGINT");
    expect((await once(top, "exit"))[0]).toBe(0);
  });

  it("tells in its status that turns are recorded, and where", async () => {
    await using terminal = openTerminal();
    const upstreams = "upstreams: { demo: { dialect: scripted } }";
    const config = terminal.write("p.yaml", `telemetry: { recording: failures }\n${upstreams}\n`);
    await terminal.open(config);
    const { out } = await terminal.patchbay("status");
    expect(out).toMatch(/recording +failed turns, masked, to /);
  });

  it("tells of a changed file that it cannot use until the file is right again", async () => {
    await using terminal = openTerminal();
    const upstreams = "upstreams: { demo: { dialect: scripted } }\n";
    const config = terminal.write("p.yaml", upstreams);
    await terminal.serve(["--config", config]);
    const status = async () => {
      const { code, out } = await terminal.patchbay("status");
      return `${code} ${out}`;
    };
    terminal.write("p.yaml", `${upstreams}server: { prot: 1 }\ntools: { strict: 5 }\n`);
    await expect.poll(status, { timeout: 60_000 }).toMatch(/^1 [^]*WRONG/);
    const { out } = await terminal.patchbay("status", "--json");
    expect(JSON.parse(out)).toMatchObject([
      { rejected: { file: config, since: expect.any(Number) } },
    ]);
    const [, wrong = ""] = (await status()).split("\n");
    expect(wrong).toContain(`WRONG  configuration ${config}: rejected since `);
    expect(wrong).toContain("the gateway keeps its former configuration: ");
    expect(wrong).toContain("p.yaml:2:11 server.prot: is not a known key; did you mean `port`?");
    expect(wrong).toMatch(/ \(1 more; `patchbay check` lists them all\)$/);
    terminal.write("p.yaml", upstreams);
    await expect.poll(status, { timeout: 60_000 }).toMatch(/^0 /);
  });

  it("tells when a store that was away is back", async () => {
    await using terminal = openTerminal();
    const path = terminal.write("store.db", "x".repeat(5000));
    const store = `store: { kind: sqlite, path: ${JSON.stringify(path)} }`;
    const config = terminal.write(
      "p.yaml",
      `${store}\nupstreams: { demo: { dialect: scripted } }\n`,
    );
    const { url } = await terminal.open(config);
    await (await ask(url)).text();
    const status = () => terminal.patchbay("status");
    await expect
      .poll(status, { timeout: 60_000 })
      .toMatchObject({ code: 1, out: expect.stringMatching(/WRONG {2}store: /) });
    const { out } = await status();
    const wrong = out.split("\n").filter((line) => line.includes("WRONG  store: "));
    expect(wrong).toEqual([...new Set(wrong)]);
    renameSync(path, `${path}.damaged`);
    const isStored = async () => (await ask(url)).headers.get("x-patchbay-store") === null;
    await expect.poll(isStored, { timeout: 60_000 }).toBe(true);
    const back = /\n {2}store +sqlite; unreachable from .* to /;
    await expect
      .poll(status, { timeout: 60_000 })
      .toMatchObject({ out: expect.stringMatching(back) });
  });

  it("ends by its codes: nobody there, misuse, something wrong", async () => {
    await using terminal = openTerminal();
    const codes = async (...args: string[]): Promise<number> =>
      (await terminal.patchbay(...args)).code;
    expect(await Promise.all([codes("top"), codes("logs"), codes("status")])).toEqual([3, 3, 3]);
    terminal.configure(
      "upstreams: { gone: { dialect: chat, base_url: 'http://127.0.0.1:9/v1', retries: 0 } }\nmodels: { '*': gone/m }\n",
    );
    const { url } = await terminal.open();
    expect((await ask(url, { "x-request-id": "bad-1" })).ok).toBe(false);
    const status = await terminal.patchbay("status");
    expect([status.code, status.out]).toEqual([
      1,
      expect.stringMatching(/^Patchbay .*\n {2}WRONG {2}gone\/m: 1 turn failed with upstream\./),
    ]);
    expect(await codes("logs", "--turn", "bad-1")).toBe(1);
    expect(await codes("logs", "--last", "many")).toBe(2);
    await terminal.open();
    const several = await terminal.patchbay("logs");
    expect([several.code, several.errors]).toEqual([2, expect.stringContaining(`--url ${url}`)]);
  });

  it("shows a gateway elsewhere by its key, and to a key only its own turns", async () => {
    await using terminal = openTerminal();
    terminal.configure(
      "server: { keys: [{ name: ann, key: ann-key }, { name: ben, key: ben-key }] }\n",
    );
    const { url } = await terminal.open();
    await (await ask(url, { authorization: "Bearer ann-key", "x-request-id": "anns" })).text();
    await (await ask(url, { authorization: "Bearer ben-key", "x-request-id": "bens" })).text();
    const seen = await terminal.patchbay("logs", "--url", url, "--key", "ann-key");
    expect([seen.code, seen.out.includes("anns"), seen.out.includes("bens")]).toEqual([
      0,
      true,
      false,
    ]);
    const wrong = await terminal.patchbay("logs", "--url", url, "--key", "no-key");
    expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining("HTTP 401")]);
  });

  it("adds up the workers of one gateway", async () => {
    await using terminal = openTerminal();
    terminal.configure("store: off\n");
    const { url } = await terminal.serve(["--workers", "2"]);
    await expect.poll(() => terminal.files().length, { timeout: 60_000 }).toBe(4);
    for (let at = 0; at < 4; at++) await (await ask(url)).text();
    const { code, out } = await terminal.patchbay("status", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([{ url, turns: 4 }]);
    const { out: lines } = await terminal.patchbay("logs");
    expect(
      lines
        .trim()
        .split("\n")
        .filter((line) => line.includes("completed")),
    ).toHaveLength(4);
  });

  it("follows the workers that are started in the place of others, and ends with them", async () => {
    await using terminal = openTerminal();
    terminal.configure("store: off\n");
    const gateway = await terminal.serve(["--workers", "2"]);
    const workers = (): Set<number> =>
      new Set(terminal.files().map((name) => Number.parseInt(name, 10)));
    await expect.poll(() => terminal.files().length, { timeout: 60_000 }).toBe(4);
    const before = workers();
    const top = terminal.start(["top", "--json"]);
    const exit = once(top, "exit");
    const lines = createInterface({ input: top.stdout })[Symbol.asyncIterator]();
    // The first batch of each.
    for (const _ of before) await lines.next();
    for (const worker of before) process.kill(worker, "SIGKILL");
    await expect
      .poll(() => [...workers()].filter((one) => !before.has(one)).length, { timeout: 60_000 })
      .toBe(2);
    await (await ask(gateway.url, { "x-request-id": "later" })).text();
    const answering: unknown[] = [];
    for (let isOver = false; !isOver;) {
      const batch = JSON.parse(String((await lines.next()).value)) as WatchedBatch;
      answering.push(batch.answering);
      isOver = batch.turns.some(({ requestId }) => requestId === "later");
    }
    expect(answering).toContain(0);
    await gateway.stop();
    expect((await exit)[0]).toBe(0);
  });
});
