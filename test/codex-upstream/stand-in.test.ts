import { describe, expect, it } from "vitest";
import { json } from "../support/fake-upstream.ts";
import { ask, childEvents, openCodex, pidOf, standIn, type CodexGateway } from "./gateway.ts";

const open = async (more = {}): Promise<CodexGateway> =>
  openCodex(() => json({}), { command: await standIn(), ...more });
describe("an app-server that misbehaves", () => {
  it("may say what cannot be read; it is skipped and counted", async () => {
    await using house = await open();
    const { body } = await ask(house, { model: "garbage" });
    expect(body["choices"]?.[0].message.content).toBe("I am thread_1.");
    expect(childEvents(house, "malformed")).toBeGreaterThan(3);
  });

  it("may speak of threads that nobody knows; nobody is told", async () => {
    await using house = await open();
    const { text } = await ask(house, { model: "strangers" });
    expect(text).toContain("I am thread_1.");
    expect(text).not.toContain("not yours");
    expect(childEvents(house, "unknown-thread")).toBe(1);
    expect(childEvents(house, "unknown-request")).toBe(1);
    expect(await (await fetch(`${house.served.url}/metrics`)).text()).toContain(
      'patchbay_child_events_total{upstream="codex",event="unknown-thread"} 1',
    );
  });

  it("may be something else, that says what nobody can read", async () => {
    const more = { command: await standIn("none"), timeouts: { connect: 400 } };
    await using house = await open(more);
    const { status, body } = await ask(house);
    expect([status, body["error"]?.code]).toEqual([502, "upstream.unreachable"]);
    expect(body["error"]?.message).toMatch(/did not start \(it did not answer\); run `CODEX_HOME=/);
  });

  it("may fail to start: it is tried again after a rest before anybody is told", async () => {
    const failOnce = 'test -e "$0.tried" || { touch "$0.tried"; exit 1; }';
    await using house = await open({ command: await standIn("0.166.0", failOnce) });
    expect((await ask(house)).status).toBe(200);
    expect([childEvents(house, "gone"), childEvents(house, "started")]).toEqual([1, 1]);
  });

  it("may not answer at all: the request is given up, and the next one works", async () => {
    await using house = await open({ timeouts: { connect: 1_500 } });
    const { status, body } = await ask(house, { model: "mute" });
    expect([status, body["error"]?.code]).toEqual([504, "upstream.headers_timeout"]);
    expect((await ask(house)).status).toBe(200);
  });

  it("may stop for good: it is replaced once it has not answered twice", async () => {
    await using house = await open({ timeouts: { connect: 1_500 } });
    expect((await ask(house)).status).toBe(200);
    process.kill(pidOf(house), "SIGSTOP");
    expect((await ask(house)).status).toBe(504);
    // That the thread before was let go of may not have been answered either.
    await ask(house);
    expect((await ask(house)).status).toBe(200);
    expect(childEvents(house, "started")).toBe(2);
  });

  it("may fall silent in mid-answer", async () => {
    await using house = await open({ timeouts: { idle: 200 } });
    const { status, body } = await ask(house, { model: "silent" });
    expect([status, body["error"]?.code]).toEqual([504, "upstream.idle_timeout"]);
    expect((await ask(house)).status).toBe(200);
  });

  it("is asked again where it was overloaded", async () => {
    await using house = await open();
    expect((await ask(house, { model: "overloaded" })).status).toBe(200);
  });

  it("has what it complains of counted and never told", async () => {
    await using house = await open();
    await ask(house, { model: "noisy" });
    expect(childEvents(house, "noise")).toBeGreaterThan(0);
    expect(JSON.stringify(house.served.happenings)).not.toContain("secret");
  });

  it("may be near the end of its allowance: that is told whenever it has changed", async () => {
    await using house = await open({ base_url: undefined, api_key: undefined });
    for (const model of ["limits-41.6", "limits-42.2", "limits-97"]) await ask(house, { model });
    expect(
      house.served.happenings.flatMap((one) =>
        one.type === "child" && one.event === "limits" ? [one.percent] : [],
      ),
    ).toEqual([42, 97]);
  });

  it("must be new enough to ask for several calls at once", async () => {
    await using house = await openCodex(() => json({}), { command: await standIn("0.163.0") });
    const { status, body } = await ask(house);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(/runs Codex 0\.163\.0; it must be 0\.164 or newer/);
    const readiness = await fetch(`${house.served.url}/readyz`);
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toMatchObject({ upstreams: { codex: "upstream.unreachable" } });
  });

  it("may be something else: it is said what to run to see why", async () => {
    await using house = await openCodex(() => json({}), { command: "/bin/false" });
    const { status, body } = await ask(house);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(
      /did not start \(exit 1\); run `CODEX_HOME=\S+ \S*\/false app-server` by hand/,
    );
  });

  it("is no loss when it is let go of", async () => {
    const house = await open();
    expect((await ask(house)).status).toBe(200);
    await house[Symbol.asyncDispose]();
    expect([childEvents(house, "started"), childEvents(house, "gone")]).toEqual([1, 0]);
  });

  it("is missed by its name where it is not there", async () => {
    await using house = await openCodex(() => json({}), { command: "/no/such/codex" });
    const { status, body } = await ask(house);
    expect(status).toBe(502);
    expect(body["error"]?.message).toMatch(/no `\/no\/such\/codex` to run. Install it/);
  });
});
