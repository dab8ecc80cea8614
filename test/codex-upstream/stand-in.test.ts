import { describe, expect, it } from "vitest";
import type { Clock } from "../../src/turn/clock.ts";
import { json } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { stillClock } from "../support/still-clock.ts";
import { ask, childEvents, openCodex, pidOf, standIn, type CodexGateway } from "./gateway.ts";

const open = async (more = {}, clock?: Clock): Promise<CodexGateway> =>
  openCodex(() => json({}), { command: await standIn(), ...more }, {}, clock);

/** A clock at a twentieth of its speed, because a busy machine takes long to start a process. */
function slowClock() {
  const clock = stillClock(Date.now());
  const timer = setInterval(() => clock.move(1), 20);
  return {
    clock,
    /** Lets time fly until something has happened. */
    async flyUntil(isDone: () => boolean): Promise<void> {
      for (; !isDone(); clock.move(100)) await new Promise(setImmediate);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

// Each test has an app-server of its own; most of their time is spent waiting for it.
describe.concurrent("an app-server that misbehaves", () => {
  it("may say what cannot be read; it is skipped and counted", async () => {
    await using gateway = await open();
    const { body } = await ask(gateway, { model: "garbage" });
    expect(body["choices"]?.[0].message.content).toBe("I am thread_1.");
    expect(childEvents(gateway, "malformed")).toBeGreaterThan(3);
  });

  it("may speak of threads that nobody knows; nobody is told", async () => {
    await using gateway = await open();
    const { text } = await ask(gateway, { model: "strangers" });
    expect(text).toContain("I am thread_1.");
    expect(text).not.toContain("not yours");
    expect(childEvents(gateway, "unknown-thread")).toBe(1);
    expect(childEvents(gateway, "unknown-request")).toBe(1);
    expect(await (await fetch(`${gateway.served.url}/metrics`)).text()).toContain(
      'patchbay_child_events_total{upstream="codex",event="unknown-thread"} 1',
    );
  });

  it("may be something else, that says what nobody can read", async () => {
    const more = { command: await standIn("none"), timeouts: { connect: 400 } };
    await using gateway = await open(more);
    const { status, body } = await ask(gateway);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.unreachable"]);
    expect(body["error"]?.message).toMatch(/did not start \(it did not answer\); run `CODEX_HOME=/);
  });

  it("may fail to start: it is tried again after a rest before anybody is told", async () => {
    const failOnce = 'test -e "$0.tried" || { touch "$0.tried"; exit 1; }';
    await using gateway = await open({ command: await standIn("0.166.0", failOnce) });
    expect((await ask(gateway)).status).toBe(200);
    expect([childEvents(gateway, "gone"), childEvents(gateway, "started")]).toEqual([1, 1]);
  });

  it("may not answer at all: the request is given up, and the next one works", async () => {
    using time = slowClock();
    await using gateway = await open({ timeouts: { connect: 1_500 } }, time.clock);
    expect((await ask(gateway)).status).toBe(200);
    const asked = ask(gateway, { model: "mute" });
    await time.flyUntil(() => gateway.served.turns().length === 2);
    const { status, body } = await asked;
    expect([status, body["error"]?.code]).toEqual([504, "upstream.headers_timeout"]);
    expect((await ask(gateway)).status).toBe(200);
  });

  it("may stop for good: it is replaced once it has not answered twice", async () => {
    using time = slowClock();
    await using gateway = await open({ timeouts: { connect: 1_500 } }, time.clock);
    expect((await ask(gateway)).status).toBe(200);
    process.kill(pidOf(gateway), "SIGSTOP");
    const first = ask(gateway);
    await time.flyUntil(() => gateway.served.turns().length === 2);
    expect((await first).status).toBe(504);
    // That the thread before was let go of may not have been answered either.
    const second = ask(gateway);
    await time.flyUntil(() => childEvents(gateway, "gone") === 1);
    await second;
    expect((await ask(gateway)).status).toBe(200);
    expect(childEvents(gateway, "started")).toBe(2);
  });

  it("may fall silent in mid-answer", async () => {
    using time = slowClock();
    await using gateway = await open(
      { timeouts: { connect: 10_000_000, idle: 1_500 } },
      time.clock,
    );
    const asked = ask(gateway, { model: "silent" });
    await until(() => childEvents(gateway, "started") === 1);
    await time.flyUntil(() => gateway.served.turns().length === 1);
    const { status, body } = await asked;
    expect([status, body["error"]?.code]).toEqual([504, "upstream.idle_timeout"]);
    expect((await ask(gateway)).status).toBe(200);
  });

  it("is asked again where it was overloaded", async () => {
    await using gateway = await open();
    expect((await ask(gateway, { model: "overloaded" })).status).toBe(200);
  });

  it("has what it complains of counted and never told", async () => {
    await using gateway = await open();
    await ask(gateway, { model: "noisy" });
    expect(childEvents(gateway, "noise")).toBeGreaterThan(0);
    expect(JSON.stringify(gateway.served.happenings)).not.toContain("secret");
  });

  it("may be near the end of its allowance: that is told whenever it has changed", async () => {
    await using gateway = await open({ base_url: undefined, api_key: undefined });
    for (const model of ["limits-41.6", "limits-42.2", "limits-97"]) await ask(gateway, { model });
    expect(
      gateway.served.happenings.flatMap((one) =>
        one.type === "child" && one.event === "limits" ? [one.percent] : [],
      ),
    ).toEqual([42, 97]);
  });

  it("must be new enough to ask for several calls at once", async () => {
    await using gateway = await openCodex(() => json({}), { command: await standIn("0.163.0") });
    const { status, body } = await ask(gateway);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(/runs Codex 0\.163\.0; it must be 0\.164 or newer/);
    const readiness = await fetch(`${gateway.served.url}/readyz`);
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toMatchObject({ upstreams: { codex: "upstream.unreachable" } });
  });

  it("may be something else: it is said what to run to see why", async () => {
    await using gateway = await openCodex(() => json({}), { command: "/bin/false" });
    const { status, body } = await ask(gateway);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(
      /did not start \(exit 1\); run `CODEX_HOME=\S+ \S*\/false app-server` by hand/,
    );
  });

  it("is no loss when it is let go of", async () => {
    const gateway = await open();
    expect((await ask(gateway)).status).toBe(200);
    await gateway[Symbol.asyncDispose]();
    expect([childEvents(gateway, "started"), childEvents(gateway, "gone")]).toEqual([1, 0]);
  });

  it("is missed by its name where it is not there", async () => {
    await using gateway = await openCodex(() => json({}), { command: "/no/such/codex" });
    const { status, body } = await ask(gateway);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(/no `\/no\/such\/codex` to run. Install it/);
  });
});
