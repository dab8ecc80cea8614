import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { CodexError } from "./faults.ts";
import { Pool, Worker } from "./worker.ts";
import type { AppServer } from "./server.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Starts that end as told, one after the other; the last goes for all that follow. */
function starting(...ends: readonly ("signed-out" | "unstartable" | "well")[]) {
  const clock = stillClock();
  const seen = { starts: 0, die: (): void => {} };
  const worker = new Worker(
    (gone) => {
      const end = ends[Math.min(seen.starts, ends.length - 1)] ?? "well";
      seen.starts++;
      seen.die = gone;
      if (end !== "well") return Promise.reject(new CodexError({ type: end, why: "no" }));
      return Promise.resolve({ pid: seen.starts, close: async () => {} } as AppServer);
    },
    clock,
    { name: "codex", origin: "", secrets: [], home: "/home" },
  );
  return { clock, worker, seen };
}

describe("a process", () => {
  it("is started once for all who need it, and again at once when it has died", async () => {
    const { worker, seen } = starting("well");
    const [one, other] = await Promise.all([worker.server(), worker.server()]);
    expect(one).toBe(other);
    seen.die();
    expect((await worker.server()).pid).toBe(2);
  });

  it("is started again after a rest for whoever asks again", async () => {
    const { worker, seen, clock } = starting("unstartable", "well");
    await expect(worker.server()).rejects.toMatchObject({ reason: { type: "unstartable" } });
    const server = worker.server();
    await settled();
    expect(seen.starts).toBe(1);
    clock.move(200);
    expect((await server).pid).toBe(2);
    expect(await worker.trouble()).toBe(undefined);
  });

  it("is not waited for when only an operator can mend it", async () => {
    const { worker, seen } = starting("signed-out");
    await expect(worker.server()).rejects.toMatchObject({ reason: { type: "signed-out" } });
    await expect(worker.server()).rejects.toMatchObject({ reason: { type: "signed-out" } });
    expect(await worker.trouble()).toMatchObject({ code: "upstream.auth" });
    expect(seen.starts).toBe(1);
  });

  it("serves as soon as it has been mended, though it was asked for before", async () => {
    const { worker, clock } = starting("signed-out", "well");
    await expect(worker.server()).rejects.toMatchObject({ reason: { type: "signed-out" } });
    await expect(worker.server()).rejects.toMatchObject({ reason: { type: "signed-out" } });
    clock.move(30_000);
    expect(await worker.trouble()).toBe(undefined);
    expect((await worker.server()).pid).toBe(2);
  });

  it("is given a rest when it dies again and again, but always started in the end", async () => {
    const { worker, seen, clock } = starting("well");
    const rests: number[] = [];
    for (let death = 0; death < 9; death++) {
      const began = clock.now();
      const server = worker.server();
      for (; seen.starts === death; clock.move(100)) await settled();
      await server;
      rests.push(clock.now() - began);
      seen.die();
    }
    expect(rests.slice(0, 2).every((rest) => rest <= 100)).toBe(true);
    expect(rests.toSorted((one, other) => one - other)).toEqual(rests);
    expect(rests.at(-1)).toBeLessThanOrEqual(2_100);
    expect(rests.at(-1)).toBeGreaterThan(1_000);
  });

  it("is started at once when it dies after a long life", async () => {
    const { worker, seen, clock } = starting("well");
    for (let life = 1; life < 5; life++) {
      expect((await worker.server()).pid).toBe(life);
      clock.move(60_000);
      seen.die();
    }
  });

  it("is given up for a while when it keeps failing", async () => {
    const { worker, seen, clock } = starting("unstartable");
    const ask = async (): Promise<unknown> => {
      const told = worker.server().catch((error: unknown) => error);
      await settled();
      clock.move(3_000);
      await settled();
      clock.move(3_000);
      return told;
    };
    for (let asked = 0; asked < 8; asked++) expect(await ask()).toBeInstanceOf(CodexError);
    const starts = seen.starts;
    await ask();
    await ask();
    expect(starts).toBeLessThan(8);
    expect(seen.starts).toBeLessThanOrEqual(starts + 1);
  });
});

describe("a pool", () => {
  const pool = (seats: number, queue: number, workers = 1) =>
    new Pool(
      Array.from({ length: workers }, () => starting("well").worker),
      { turnsPerProcess: seats, queue },
    );

  it("spreads turns over its processes", () => {
    const two = pool(9, 0, 2);
    for (let at = 0; at < 6; at++) two.enter(() => {});
    expect(two.workers.map(({ turns }) => turns)).toEqual([3, 3]);
  });

  it("lets turns wait in line, and refuses those who find no place there", () => {
    const one = pool(1, 1);
    const leaves: (() => void)[] = [];
    const enter = (): (() => void) => one.enter(({ leave }) => void leaves.push(leave));
    enter();
    const giveUp = enter();
    expect(leaves).toHaveLength(1);
    expect(enter).toThrow(/queue-full/);
    giveUp();
    enter();
    leaves[0]?.();
    leaves[0]?.();
    expect(leaves).toHaveLength(2);
    expect(one.workers[0]?.turns).toBe(1);
  });
});
