import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { brotliCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { growth, LINEAR } from "../../../test/support/growth.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import { ByteBudget } from "../../gateway/http/budget.ts";
import type { Fault } from "../../turn/fault.ts";
import { collectBody } from "./body-intake.ts";

const MB = 1024 * 1024;

/** A body that arrives as the test says. */
class Arriving extends EventEmitter {
  readonly headers: IncomingHttpHeaders;
  constructor(headers: IncomingHttpHeaders = {}) {
    super();
    this.headers = headers;
  }
}

function begin(
  budget: ByteBudget,
  { tenant = "ann", headers = {}, limit = 32 * MB, clock = stillClock() } = {},
) {
  const payload = new Arriving(headers);
  const ended = Promise.withResolvers<{ fault: Fault | null; body?: string | undefined }>();
  collectBody(payload as never, { budget, tenant, limit }, clock, (fault, body) =>
    ended.resolve({ fault, body }),
  );
  return { payload, ended: ended.promise, clock };
}

describe("a body that arrives", () => {
  it("holds what it has brought so far, and nothing once it is there", async () => {
    const budget = new ByteBudget(100);
    const { payload, ended } = begin(budget);
    payload.emit("data", Buffer.from("ab"));
    expect(budget.held).toBe(2);
    payload.emit("end");
    expect(await ended).toEqual({ fault: null, body: "ab" });
    expect(budget.held).toBe(0);
  });

  it("is refused where all together hold too much, and the others go on", async () => {
    const budget = new ByteBudget(8 * MB);
    const all = Array.from({ length: 60 }, () => begin(budget));
    for (const { payload } of all)
      for (let sent = 0; sent < 32; sent++) payload.emit("data", Buffer.alloc(MB / 8, 0x61));
    expect(budget.held).toBeLessThanOrEqual(8 * MB);
    const refused = await Promise.race(all.map(({ ended }) => ended));
    expect(refused.fault).toMatchObject({ code: "gateway.busy", status: 503 });
    expect(refused.fault?.detail.retryAfter).toBe("1");
    const other = begin(budget, { tenant: "bob" });
    other.payload.emit("data", Buffer.from("{}"));
    other.payload.emit("end");
    expect((await other.ended).body).toBe("{}");
  });

  it("costs its length and not its chunks, in memory", () => {
    const budget = new ByteBudget(1024 * MB);
    const { payload } = begin(budget);
    const read = Buffer.alloc(65_536, 0x61);
    for (let at = 0; at < 1_000_000; at++)
      payload.emit("data", read.subarray(at % 65_536, (at % 65_536) + 1));
    expect(budget.held).toBeLessThanOrEqual(2 * MB);
  });

  it("costs no more than it announced, and grows if it was not true", () => {
    const budget = new ByteBudget(8 * MB);
    const { payload } = begin(budget, { headers: { "content-length": "70000" } });
    payload.emit("data", Buffer.alloc(60_000));
    payload.emit("data", Buffer.alloc(10_000));
    expect(budget.held).toBe(70_000);
    payload.emit("data", Buffer.alloc(1));
    expect(budget.held).toBe(140_000);
  });

  it("costs its length and not its square, in time", async () => {
    const chunk = Buffer.from("a");
    const work = (size: number): void => {
      const { payload } = begin(new ByteBudget(1024 * MB));
      for (let at = 0; at < size; at++) payload.emit("data", chunk);
      payload.emit("end");
    };
    expect(await growth(work, 100_000)).toBeLessThan(LINEAR);
  });

  it("is given up where its last byte does not come", async () => {
    const budget = new ByteBudget(100 * MB);
    const { payload, ended, clock } = begin(budget);
    payload.emit("data", Buffer.alloc(MB));
    clock.move(15_000);
    expect(budget.held).toBe(MB);
    clock.move(15_000);
    expect((await ended).fault).toMatchObject({ code: "request.timeout", status: 408 });
    expect(budget.held).toBe(0);
    payload.emit("data", Buffer.alloc(MB));
    expect(budget.held).toBe(0);
  });

  it("gives back what it held where its client leaves", async () => {
    const budget = new ByteBudget(100);
    const { payload, ended, clock } = begin(budget);
    payload.emit("data", Buffer.from("ab"));
    payload.emit("error", new Error("aborted"));
    expect((await ended).fault?.code).toBe("request.invalid");
    expect(budget.held).toBe(0);
    clock.move(15_000);
    expect(clock.waiting()).toBe(0);
  });

  it("is looked at in its own time, by one timer for all", async () => {
    const clock = stillClock();
    const budget = new ByteBudget(100 * MB);
    const [first, second, third] = Array.from({ length: 3 }, () => {
      const begun = begin(budget, { clock });
      clock.move(5_000);
      return begun;
    });
    second?.payload.emit("data", Buffer.alloc(MB));
    expect(clock.waiting()).toBe(1);
    expect((await first?.ended)?.fault?.code).toBe("request.timeout");
    clock.move(5_000);
    expect(budget.held).toBe(MB);
    clock.move(5_000);
    expect((await third?.ended)?.fault?.code).toBe("request.timeout");
    second?.payload.emit("end");
    expect((await second?.ended)?.fault).toBeNull();
    clock.move(15_000);
    expect(clock.waiting()).toBe(0);
  });
});

describe("a body that is unpacked", () => {
  const bomb = brotliCompressSync(Buffer.alloc(30 * MB, 0x20));

  it("holds what it becomes, and is stopped where there is no room for that", async () => {
    expect(bomb.length).toBeLessThan(100);
    const budget = new ByteBudget(64 * MB);
    const all = Array.from({ length: 20 }, () =>
      begin(budget, { headers: { "content-encoding": "br" } }),
    );
    let most = 0;
    const look = setInterval(() => (most = Math.max(most, budget.held)), 1);
    for (const { payload } of all) {
      payload.emit("data", bomb);
      payload.emit("end");
    }
    const codes = (await Promise.all(all.map(({ ended }) => ended))).map(
      ({ fault }) => fault?.code,
    );
    clearInterval(look);
    expect(codes).toContain("gateway.busy");
    expect(most).toBeLessThanOrEqual(64 * MB);
    expect(budget.held).toBe(0);
  });

  it("is too large where it becomes so", async () => {
    const budget = new ByteBudget(64 * MB);
    const { payload, ended } = begin(budget, { headers: { "content-encoding": "br" }, limit: MB });
    payload.emit("data", bomb);
    payload.emit("end");
    expect((await ended).fault?.code).toBe("request.too_large");
    expect(budget.held).toBe(0);
  });
});
