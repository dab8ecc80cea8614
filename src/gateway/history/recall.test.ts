import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { free, item, turn } from "../../../test/support/store-suite.ts";
import { responses } from "../../dialects/responses/responses.ts";
import { newId } from "../../host/platform/ids.ts";
import { MemoryLog } from "../../history/memory-log.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import { parseConfig } from "../config.ts";
import type { Reply } from "../http/exchange.ts";
import { onceReady } from "../http/read-body.ts";
import { StepQueue } from "../http/steps.ts";
import { RunningTurns } from "../run/running-turns.ts";
import { recall, type RecalledRequest } from "./recall.ts";
import { sealNote } from "./origin.ts";

const store = new MemoryLog(stillClock());
const upstreams = new Map<string, Upstream>();
const steps = new StepQueue(stillClock());
const parts = { store, upstreams, modelRoutes: new Map(), steps, clock: stillClock(), newId };
const state = { ...parts, config: parseConfig({}) };
const asked = (body: Fields) => {
  const text = JSON.stringify(body);
  return { tenant: "ann", dialect: responses.door, body, text, weigh: free };
};
const read = (body: Fields): RecalledRequest | Promise<RecalledRequest> =>
  recall(state, asked(body));

const reasoning = (encrypted: string): Fields => ({
  type: "reasoning",
  summary: [],
  encrypted_content: encrypted,
});

describe("a request", () => {
  it("that refers to nothing is a turn at once", () => {
    for (const input of ["Hi", [{ role: "user", content: "Hi" }, reasoning("patchbay:1:{}")]])
      expect(read({ model: "m", input })).not.toBeInstanceOf(Promise);
  });

  it("is told who sealed its reasoning, in one query", async () => {
    await store.append(turn({ notes: [sealNote("one", "up")] }));
    const input = [reasoning("one"), reasoning("other")];
    const { sealOwner } = await read({ model: "m", input });
    expect(["one", "other"].map((seal) => sealOwner(seal))).toEqual(["up", undefined]);
  });
});

describe("a request that waits for the store", () => {
  const waiting = () => {
    const running = new RunningTurns();
    const happened: string[] = [];
    let leave = (): void => {};
    const reply = { onLeave: (then: () => void) => void (leave = then) } as Reply;
    const { promise, resolve, reject } = Promise.withResolvers<RecalledRequest>();
    const refuse = (fault: Fault): void => void happened.push(fault.code);
    const over = onceReady({ state: { running }, exchange: { reply }, refuse }, promise, () => {
      happened.push("goes on");
    });
    return { running, happened, leave: () => leave(), resolve, reject, over };
  };
  const recalled = { turn: {}, sealOwner: () => undefined } as unknown as RecalledRequest;

  it("counts among the turns under way until it goes on", async () => {
    const { running, happened, resolve, over } = waiting();
    expect(running.size).toBe(1);
    resolve(recalled);
    await over;
    expect([running.size, happened]).toEqual([0, ["goes on"]]);
  });

  it("goes no further when its client has left", async () => {
    const { running, happened, leave, resolve, over } = waiting();
    leave();
    resolve(recalled);
    await over;
    expect([running.size, happened]).toEqual([0, []]);
  });

  it("is refused once when the gateway stops", async () => {
    const { running, happened, resolve, over } = waiting();
    running.haltAll();
    resolve(recalled);
    await over;
    expect(happened).toEqual(["gateway.stopping"]);
  });

  it("fails as the store does, unless nobody is there any more", async () => {
    const one = waiting();
    one.reject(new Error("gone"));
    await expect(one.over).rejects.toThrow("gone");
    expect(one.running.size).toBe(0);
    const other = waiting();
    other.leave();
    other.reject(new Error("gone"));
    await other.over;
  });
});

it("loads no more of the items referred to than a body may have", async () => {
  await store.append(turn({ items: [item("big", "x".repeat(2000))] }));
  const config = parseConfig({ server: { body_limit: 1000 } });
  const body = { model: "m", input: [{ type: "item_reference", id: "big" }] };
  const reading = Promise.resolve(recall({ ...state, config }, asked(body)));
  await expect(reading).rejects.toThrow(Fault);
});
