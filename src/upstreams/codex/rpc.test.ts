import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import type { Fields } from "../../turn/turn.ts";
import { CodexError } from "./faults.ts";
import { Rpc, type Listener, type Unexpected } from "./rpc.ts";

type Sent = { readonly id: number; readonly method: string };

const messagesIn = (lines: string): readonly Sent[] =>
  lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Sent);

function open(limit = 8) {
  const clock = stillClock();
  const sent: Sent[] = [];
  const unexpected: Unexpected[] = [];
  const rpc = new Rpc({
    send: (lines) => void sent.push(...messagesIn(lines)),
    clock,
    timeout: 1_000,
    limit,
    onUnexpected: (what) => void unexpected.push(what),
  });
  const hear = (message: unknown): void => rpc.receive(JSON.stringify(message));
  return { clock, sent, unexpected, rpc, hear };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function listener(): Listener & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    onNotification: (method) => void heard.push(method),
    onRequest: (_, method) => method === "item/tool/call" && heard.push(method) > 0,
    onExit: ({ reason }) => void heard.push(reason.type),
  };
}

describe("requests to the app-server", () => {
  it("find their own answers, in whatever order", async () => {
    const { rpc, hear } = open();
    const both = Promise.all([rpc.request("a", {}), rpc.request("b", {})]);
    await settled();
    hear({ id: 2, result: { of: "b" } });
    hear({ id: 1, result: { of: "a" } });
    expect(await both).toEqual([{ of: "a" }, { of: "b" }]);
  });

  it("have no half characters in them, which the other side cannot read", async () => {
    const { rpc, sent } = open();
    rpc.respond(7, { "\ud83dkey": "cut \ud83d", whole: "😀 \\ud83d \u0000" });
    await settled();
    expect(sent).toEqual([
      { id: 7, result: { "\ufffdkey": "cut \ufffd", whole: "😀 \\ud83d \u0000" } },
    ]);
  });

  it("are given up when no answer comes, and a late one is counted", async () => {
    const { rpc, clock, hear, unexpected } = open();
    const failed = rpc.request("a", {}).catch((error: unknown) => error);
    await settled();
    clock.move(1_000);
    expect(await failed).toMatchObject({ reason: { type: "no-reply", method: "a" } });
    hear({ id: 1, result: {} });
    expect(unexpected).toEqual(["unknown-answer"]);
  });

  it("are a sign that the other side has stopped where two in a row hear nothing", async () => {
    const clock = stillClock();
    let stopped = 0;
    const rpc = new Rpc({
      send: () => {},
      clock,
      timeout: 1_000,
      limit: 8,
      onUnexpected: () => {},
      onHang: () => void stopped++,
    });
    const giveUp = async (): Promise<void> => {
      const failed = rpc.request("a", {}).catch(() => {});
      clock.move(1_000);
      await failed;
    };
    await giveUp();
    rpc.receive('{"method":"x","params":{}}');
    await giveUp();
    expect(stopped).toBe(0);
    await giveUp();
    expect(stopped).toBe(1);
  });

  it("are given up each in its own time, and make room for those that wait", async () => {
    const { rpc, clock, sent } = open(2);
    const given: string[] = [];
    const ask = (method: string): void =>
      void rpc.request(method, {}).catch(() => void given.push(method));
    ask("a");
    clock.move(600);
    ask("b");
    ask("c");
    clock.move(400);
    await settled();
    expect([given, sent.map(({ method }) => method)]).toEqual([["a"], ["a", "b", "c"]]);
    clock.move(600);
    await settled();
    expect(given).toEqual(["a", "b"]);
    clock.move(400);
    await settled();
    expect(given).toEqual(["a", "b", "c"]);
    expect(clock.waiting()).toBe(0);
  });

  it("wait their turn", async () => {
    const { rpc, sent, hear } = open(1);
    const both = Promise.all([rpc.request("a", {}), rpc.request("b", {})]);
    await settled();
    expect(sent.map(({ method }) => method)).toEqual(["a"]);
    hear({ id: 1, result: {} });
    await settled();
    expect(sent.map(({ method }) => method)).toEqual(["a", "b"]);
    hear({ id: 2, result: {} });
    await both;
  });

  it("are made again when it was overloaded", async () => {
    const { rpc, clock, sent, hear } = open();
    const answer = rpc.request("a", {});
    await settled();
    hear({ id: 1, error: { code: -32001, message: "later" } });
    await settled();
    clock.move(50);
    await settled();
    expect(sent).toHaveLength(2);
    hear({ id: 2, result: { at: "last" } });
    expect(await answer).toEqual({ at: "last" });
  });

  it("go out with the next one, or after a while, where they are not urgent", async () => {
    const { rpc, clock, sent } = open();
    const methods = (): string[] => sent.map(({ method }) => method);
    const ask = (method: string, urgent: boolean): void =>
      void rpc.request(method, {}, urgent).catch(() => {}); // Nobody answers here.
    ask("a", false);
    await settled();
    expect(methods()).toEqual([]);
    ask("b", true);
    await settled();
    expect(methods()).toEqual(["a", "b"]);
    ask("c", false);
    await settled();
    clock.move(100);
    expect(methods()).toEqual(["a", "b", "c"]);
  });

  it("fail as it says, and all at once when it is gone", async () => {
    const { rpc, hear } = open();
    const refused = rpc.request("a", {}).catch((error: unknown) => error);
    const lost = rpc.request("b", {}).catch((error: unknown) => error);
    await settled();
    hear({ id: 1, error: { code: -32600, message: "no" } });
    expect(await refused).toMatchObject({ reason: { type: "rpc", code: -32600, message: "no" } });
    const error = new CodexError({ type: "exited", reason: "SIGKILL" });
    rpc.fail(error);
    expect(await lost).toBe(error);
    await expect(rpc.request("c", {})).rejects.toBe(error);
  });
});

describe("what the app-server says", () => {
  it("goes to its own thread and to no other", () => {
    const { rpc, hear, unexpected } = open();
    const [one, other] = [listener(), listener()];
    rpc.subscribe("1", one);
    const leave = rpc.subscribe("2", other);
    hear({ method: "x", params: { threadId: "1" } });
    hear({ method: "y", params: { threadId: "3" } });
    hear({ method: "z", params: {} });
    leave();
    hear({ method: "late", params: { threadId: "2" } });
    expect([one.heard, other.heard]).toEqual([["x"], []]);
    expect(unexpected).toEqual(["unknown-thread", "unknown-thread"]);
  });

  it("is answered where it asks, if only with a refusal", async () => {
    const { rpc, hear, sent, unexpected } = open();
    const one = listener();
    rpc.subscribe("1", one);
    hear({ id: 0, method: "item/tool/call", params: { threadId: "1" } });
    hear({ id: 1, method: "item/other", params: { threadId: "1" } });
    hear({ id: "2", method: "item/tool/call", params: { threadId: "nobody" } });
    await settled();
    expect(one.heard).toEqual(["item/tool/call"]);
    expect((sent as unknown as Fields[]).map(({ id, error }) => [id, typeof error])).toEqual([
      [1, "object"],
      ["2", "object"],
    ]);
    expect(unexpected).toEqual(["unknown-request", "unknown-request"]);
  });

  it("is not even read where its thread skips it", () => {
    const { rpc, hear, unexpected } = open();
    const one = { ...listener(), ignores: (_: string, turn: unknown) => turn === "told" };
    rpc.subscribe("1", one);
    const item = (turnId: string): unknown => ({
      method: "rawResponseItem/completed",
      params: { threadId: "1", turnId, item: { text: "long ".repeat(500) } },
    });
    hear(item("told"));
    hear(item("said"));
    // Written in another order it is read, and left to whoever knows better.
    rpc.receive('{"params":{"turnId":"told","threadId":"1"},"method":"rawResponseItem/completed"}');
    expect(one.heard).toEqual(["rawResponseItem/completed", "rawResponseItem/completed"]);
    expect(unexpected).toEqual([]);
  });

  it("may be nonsense", () => {
    const { rpc, unexpected } = open();
    for (const line of ["", "x", "[]", "null", "{}", '{"id":null}']) rpc.receive(line);
    expect(unexpected).toEqual(Array.from({ length: 6 }, () => "malformed"));
  });
});
