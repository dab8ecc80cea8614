import { expect, it } from "vitest";
import { free } from "../../../../test/support/store-suite.ts";
import { stillClock } from "../../../../test/support/still-clock.ts";
import { storedAnswers } from "../../../dialects/responses/history.ts";
import { newId } from "../../../host/platform/ids.ts";
import { MemoryLog } from "../../../history/memory-log.ts";
import type { StoredTurn } from "../../../history/log.ts";
import type { Fault } from "../../../turn/fault.ts";
import type { ReplyData } from "../../http/exchange.ts";
import { ByteBudget } from "../../http/budget.ts";
import { sendEvents } from "./reattach.ts";
import { BackgroundRuns, pieceId } from "./runs.ts";

const START = 1_000_000;
const MB = 1_000_000;
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const frame = (number: number, text = ""): string =>
  `event: e\ndata: {"type":"e","text":"${text}","sequence_number":${number}}\n\n`;

/** Two processes with clocks of their own and one store. */
async function two() {
  const clock = stillClock(START);
  const otherClock = stillClock(START);
  const store = new MemoryLog(otherClock, { maxBytes: 500 * MB, maxAgeMs: 1e9 });
  let limit = MB;
  const memory = new ByteBudget(limit, "turns_limit");
  const resize = (bytes: number): void => void (limit = bytes);
  const runs = new BackgroundRuns({ store, clock, newId, memory });
  const others = new BackgroundRuns({ store, clock: otherClock, newId, memory });
  const lease = await runs.lease("ann", "resp_1");
  if (lease === undefined) throw new Error("nobody else has it");
  const run = runs.add({ tenant: "ann", form: storedAnswers.background, lease });
  const faults: Fault[] = [];
  run.onCancel((fault) => void faults.push(fault));
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.move(1000);
      otherClock.move(1000);
      await settled();
    }
  };
  /** All pieces of its events that are stored. */
  const stored = async (): Promise<string[]> => {
    const ids = Array.from({ length: 300 }, (_, at) => pieceId("resp_1", at));
    const found = await store.find(
      { of: "notes", tenant: "ann", ids: ids, maxBytes: 500 * MB },
      free,
    );
    const texts = found.type === "found" ? [...found.items.values()] : [];
    return texts.map(({ json }) => JSON.parse(json) as string);
  };
  return { store, runs, others, run, clock, otherClock, pass, memory, resize, faults, stored };
}

it("takes an answer for made as long as its process shows that it is there", async () => {
  const { others, pass, run } = await two();
  await pass(120_000);
  expect(await others.isMade("ann", "resp_1")).toBe(true);
  run.end();
});

it("takes an answer for lost within 30 s of the last sign", async () => {
  const { others, otherClock, runs } = await two();
  otherClock.move(19_000);
  expect(await others.isMade("ann", "resp_1")).toBe(true);
  otherClock.move(1000);
  expect(await others.isMade("ann", "resp_1")).toBe(false);
  const taking = others.takeOver("ann", "resp_1");
  otherClock.move(9000);
  expect(await taking).toBeDefined();
  // The process that makes it knows better, as long as it has not heard of that.
  expect(await runs.isMade("ann", "resp_1")).toBe(true);
});

it("gives a process that was asleep a last chance to show that it is there", async () => {
  const { others, clock, otherClock, pass, run } = await two();
  otherClock.move(60_000);
  const taking = others.takeOver("ann", "resp_1");
  clock.move(1000);
  await settled();
  otherClock.move(5000);
  expect(await taking).toBeUndefined();
  await pass(10_000);
  expect(await others.isMade("ann", "resp_1")).toBe(true);
  run.end();
});

it("ends an answer that another process has given up, and stores nothing more of it", async () => {
  const { others, otherClock, pass, run, faults, stored } = await two();
  otherClock.move(60_000);
  const taking = others.takeOver("ann", "resp_1");
  otherClock.move(5000);
  expect(await taking).toBeDefined();
  run.reply.write(frame(0));
  await pass(1000);
  expect(faults[0]?.code).toBe("response.lost");
  run.reply.end(frame(1));
  await pass(1000);
  expect(await stored()).toEqual([]);
});

it("cancels an answer that another process was asked to cancel", async () => {
  const { others, pass, faults } = await two();
  await others.askToCancel("bob", "resp_1");
  await pass(2000);
  expect(faults).toEqual([]);
  await others.askToCancel("ann", "resp_1");
  await pass(2000);
  expect(faults[0]?.code).toBe("response.cancelled");
});

it("stores the events of an answer while it is made, each once", async () => {
  const { run, pass, stored, others } = await two();
  run.reply.write(frame(0) + frame(1).slice(0, 10));
  await pass(1000);
  run.reply.write(`${frame(1).slice(10)}: a comment\n\n`);
  run.reply.end(`${frame(2)}data: [DONE]\n\n`);
  await pass(1000);
  expect(await stored()).toEqual([frame(0), frame(1) + frame(2)]);
  expect(await others.isMade("ann", "resp_1")).toBe(false);
});

it("stores events of any size in pieces, again where a write fails, without a gap", async () => {
  const { run, pass, stored, store, resize } = await two();
  resize(1000 * MB);
  let writes = 0;
  const append = store.append.bind(store);
  Object.assign(store, {
    append: (turn: StoredTurn) =>
      ++writes % 5 === 0 ? Promise.reject(new Error("away")) : append(turn),
  });
  const long = "x".repeat(100_000);
  const frames = Array.from({ length: 800 }, (_, number) => frame(number, long));
  for (const [at, one] of frames.entries()) {
    run.reply.write(one);
    if (at % 50 === 0) await pass(1000);
  }
  await pass(60_000);
  run.reply.end(frame(800, "x".repeat(5_000_000)));
  await pass(60_000);
  const pieces = await stored();
  const whole = pieces.join("");
  expect(whole.startsWith(frames.join(""))).toBe(true);
  expect(Math.max(...pieces.slice(0, -1).map(({ length }) => length))).toBeLessThan(2_000_000);
});

it("ends an answer whose events hold more memory than they may, and gives it back", async () => {
  const { run, memory, faults } = await two();
  for (let number = 0; faults.length === 0 && number < 100_000; number++) {
    run.reply.write(frame(number));
    await Promise.resolve();
  }
  expect(faults[0]?.code).toBe("gateway.busy");
  expect(memory.held).toBeGreaterThan(MB / 2);
  expect(memory.held).toBeLessThanOrEqual((2 * MB) / 3);
  run.end();
  await settled();
  expect(memory.held).toBe(0);
});

it("sends a client no more of what has been said than it is about to read", async () => {
  const { run, resize } = await two();
  resize(1000 * MB);
  const frames = Array.from({ length: 200 }, (_, number) => frame(number, "x".repeat(10_000)));
  run.reply.write(frames.join(""));
  const sent: string[] = [];
  let drain = (): void => {};
  const write = (data: ReplyData): boolean => {
    sent.push(String(data));
    return false;
  };
  const reply = { ...run.reply, write, onDrain: (then: () => void) => void (drain = then) };
  void sendEvents(reply, run.eventsFrom(0), "");
  await settled();
  expect(sent.join("").length).toBeLessThan(100_000);
  for (let at = 0; at < frames.length; at++) {
    drain();
    await settled();
  }
  expect(sent.join("")).toBe(frames.join(""));
  run.end();
});
