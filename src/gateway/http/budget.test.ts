import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { requestMemory, ByteBudget, turnsLimit } from "./budget.ts";

const half = (): number => 0.5;
const MB = 1_000_000;

describe("the memory of a request", () => {
  it("is about its length where it is text", () => {
    expect(requestMemory("x".repeat(MB), half)).toBe(MB);
  });

  it("is many times that where it is of many small members", () => {
    const messages = '{"role":"user","content":"a"},'.repeat(MB / 30);
    expect(requestMemory(messages, half) / MB).toBeCloseTo(7.4, 0);
    expect(requestMemory("[],".repeat(MB / 3), half) / MB).toBeCloseTo(33, 0);
  });

  it("is weighed by the most that it can come to where it is short", () => {
    expect(requestMemory("x".repeat(1000), half)).toBe(16_000);
  });
});

describe("the memory of turns", () => {
  it("is half of the heap where nothing is said", () => {
    expect(turnsLimit({}, 1000)).toBe(500);
    expect(turnsLimit({ turns_limit: 7 }, 1000)).toBe(7);
  });

  it("is refused for good to a request that could never have so much", () => {
    const memory = new ByteBudget(90, "turns_limit");
    expect(() => memory.enter("ann", 61)).toThrow(expect.objectContaining({ status: 413 }));
    expect(memory.held).toBe(0);
  });

  it("is refused where there is none, given back by those that end, and left in part to others", () => {
    const memory = new ByteBudget(90, "turns_limit");
    const release = memory.enter("ann", 60);
    expect(() => memory.enter("ann", 1)).toThrow(Fault);
    memory.enter("bob", 10)();
    release();
    expect(memory.held).toBe(0);
    memory.enter("ann", 60)();
  });

  it("is taken for what is loaded too, and goes with the request to its turn", () => {
    const memory = new ByteBudget(90, "turns_limit");
    const held = memory.open("ann");
    held.take(10);
    held.load(10);
    expect(() => held.load(3)).toThrow(expect.objectContaining({ status: 413 }));
    held.keep().served();
    expect(memory.held).toBe(50);
    held.release();
    expect(memory.held).toBe(0);
  });
});
