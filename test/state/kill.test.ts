import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { FIRST_ITEM, HEAD } from "../../src/history/records.ts";
import { compileCache } from "../support/compile-cache.ts";
import type { Body } from "../support/fake-upstream.ts";

/** Every night there are 1000: `PATCHBAY_KILLS=1000 npx vitest run test/state/kill.test.ts`. */
const kills = Number(process.env["PATCHBAY_KILLS"] ?? 4);
const script = join(import.meta.dirname, "killed-gateway.ts");

type Gateway = { readonly child: ChildProcess; readonly url: string };

async function start(path: string): Promise<Gateway> {
  const child = spawn(process.execPath, [script, path], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url };
}

/** Asks until the gateway is gone; tells of each response that is seen completed. */
async function ask(url: string, stream: boolean, completed: (id: string) => void): Promise<void> {
  let previous: string | undefined;
  try {
    for (;;) {
      const body = { model: "demo", input: "Hi", stream, previous_response_id: previous };
      const response = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const id = stream ? await streamedId(response) : await wholeId(response);
      if (id === undefined) return;
      completed(id);
      previous = id;
    }
  } catch {
    // It was killed; what was cut off was not seen completed.
  }
}

const wholeId = async (response: Response): Promise<string | undefined> => {
  const body = (await response.json()) as Body;
  return body["status"] === "completed" ? String(body["id"]) : undefined;
};

/** Taken as soon as the event is there: the gateway may be killed before the stream ends. */
async function streamedId(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    const [, last] = /\ndata: (\{"type":"response\.completed".*\})\n\n/.exec(text) ?? [];
    if (last !== undefined) return String((JSON.parse(last) as Body)["response"]["id"]);
  }
  return undefined;
}

/** Runs requests and kills the gateway once so many responses were seen completed. */
async function killAfter({ child, url }: Gateway, count: number): Promise<string[]> {
  const over = once(child, "close");
  const seen: string[] = [];
  const completed = (id: string): void => {
    seen.push(id);
    if (seen.length === count) child.kill("SIGKILL");
  };
  await Promise.all([true, false, true, false, true].map((stream) => ask(url, stream, completed)));
  await over;
  return seen;
}

async function expectAll(url: string, ids: readonly string[]): Promise<void> {
  const found = ids.map(async (id) => {
    let response = await fetch(`${url}/v1/responses/${id}`);
    // On a machine without a moment to spare, the store may say that it was too slow: that is not lost.
    while (response.status === 504) response = await fetch(`${url}/v1/responses/${id}`);
    const { status, output } = (await response.json()) as Body;
    expect([id, response.status, status, output?.length]).toEqual([id, 200, "completed", 1]);
  });
  await Promise.all(found);
}

it(
  `has every response that a client saw completed after each of ${kills} kill -9, and none in part`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-kill-"));
    const path = join(folder, "store.db");
    let seen: string[] = [];
    let total = 0;
    let next = start(path);
    for (let cycle = 0; cycle <= kills; cycle++) {
      const gateway = await next;
      await expectAll(gateway.url, seen);
      // The next one comes up meanwhile, and opens the file when it is asked: after the kill.
      if (cycle < kills) next = start(path);
      seen = await killAfter(gateway, cycle === kills ? 1 : 1 + ((cycle * 7) % 12));
      total += seen.length;
    }
    expect(total).toBeGreaterThanOrEqual(kills);
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const part = (place: number): string =>
      `EXISTS (SELECT 1 FROM parts WHERE entry = seq AND place = ${place})`;
    const whole = [HEAD, FIRST_ITEM, FIRST_ITEM + 1].map(part).join(" AND ");
    const halves = database.prepare(
      `SELECT count(*) AS n FROM entries WHERE kind = 1 AND NOT (${whole})`,
    );
    expect(halves.get()?.["n"]).toBe(0);
    const stored = database.prepare("SELECT count(*) AS n FROM entries WHERE kind = 1").get()?.[
      "n"
    ];
    expect(Number(stored)).toBeGreaterThanOrEqual(total - seen.length);
    database.close();
    rmSync(folder, { recursive: true });
  },
  Math.max(180_000, kills * 10_000),
);
