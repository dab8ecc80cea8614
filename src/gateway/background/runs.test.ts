import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { background as form } from "../../dialects/responses/background.ts";
import { MemoryStore } from "../../store/memory.ts";
import type { Fault } from "../../turn/fault.ts";
import { TurnMemory } from "../turn-memory.ts";
import { BackgroundRuns, chunkId } from "./runs.ts";

const START = 1_000_000;
const MB = 1_000_000;
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const frame = (number: number): string =>
  `event: e\ndata: {"type":"e","sequence_number":${number}}\n\n`;

/** Two processes with clocks of their own and one store. */
function two() {
  const clock = stillClock(START);
  const otherClock = stillClock(START);
  const store = new MemoryStore(otherClock);
  const memory = new TurnMemory();
  memory.resize(MB);
  const runs = new BackgroundRuns(store, clock, memory);
  const others = new BackgroundRuns(store, otherClock, memory);
  const run = runs.add({ tenant: "ann", id: "resp_1", form, endMarker: "" });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.move(1000);
      otherClock.move(1000);
      await settled();
    }
  };
  return { store, runs, others, run, otherClock, pass, memory };
}

it("takes an answer for made as long as its process shows that it is there", async () => {
  const { others, pass, run } = two();
  await pass(120_000);
  expect(await others.isMade("ann", "resp_1", START)).toBe(true);
  run.end();
});

it("takes an answer for lost within 30 s of the last sign", async () => {
  const { others, otherClock, runs } = two();
  otherClock.move(19_000);
  expect(await others.isMade("ann", "resp_1", START)).toBe(true);
  otherClock.move(11_000);
  expect(await others.isMade("ann", "resp_1", START)).toBe(false);
  // The process that makes it knows better.
  expect(await runs.isMade("ann", "resp_1", START)).toBe(true);
});

it("cancels an answer that another process was asked to cancel", async () => {
  const { others, run, pass } = two();
  const faults: Fault[] = [];
  run.onCancel((fault) => void faults.push(fault));
  await others.askToCancel("bob", "resp_1");
  await pass(2000);
  expect(faults).toEqual([]);
  await others.askToCancel("ann", "resp_1");
  await pass(2000);
  expect(faults[0]?.code).toBe("response.cancelled");
});

it("stores the events of an answer while it is made, each once", async () => {
  const { store, run, pass } = two();
  run.reply.write(frame(0) + frame(1).slice(0, 10));
  await pass(1000);
  run.reply.write(`${frame(1).slice(10)}: a comment\n\n`);
  run.reply.end(`${frame(2)}data: [DONE]\n\n`);
  await settled();
  const ids = [0, 1, 2].map((at) => chunkId("resp_1", at));
  const found = await store.findItems("ann", ids, 10_000);
  const texts = found.type === "found" ? [...found.items.values()].map(({ json }) => json) : [];
  expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual([frame(0), frame(1) + frame(2)]);
});

it("ends an answer whose events hold more memory than they may, and gives it back", async () => {
  const { run, memory } = two();
  const faults: Fault[] = [];
  run.onCancel((fault) => void faults.push(fault));
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
