import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { MemoryLog } from "../../history/memory-log.ts";
import { isSealed, sealBox } from "./seal-box.ts";

const newStore = () => new MemoryLog(stillClock(), { maxBytes: 1000, maxAgeMs: 1000 });

describe("a seal", () => {
  it("opens wherever the same store is, for the same tenant", async () => {
    const store = newStore();
    const text = `Größe ${"x".repeat(100_000)} 🙂`;
    const sealed = await sealBox(store).seal("ann", text);
    expect(isSealed(sealed)).toBe(true);
    expect(sealed).not.toContain("xxxx");
    expect(await sealBox(store).open("ann", sealed)).toBe(text);
  });

  it("opens for nobody else, with no other store's key, and not when it was changed", async () => {
    const store = newStore();
    const box = sealBox(store);
    const sealed = await box.seal("ann", "a secret");
    expect(await box.open("bob", sealed)).toBeUndefined();
    expect(await sealBox(newStore()).open("ann", sealed)).toBeUndefined();
    for (const at of [5, 20, sealed.length - 3]) {
      const other = sealed[at] === "A" ? "B" : "A";
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      expect(await box.open("ann", changed)).toBeUndefined();
    }
    for (const wrong of ["", "pbs1.", "pbs1.***", "gAAAAA"])
      expect(await box.open("ann", wrong)).toBeUndefined();
  });

  it("is never the same twice", async () => {
    const box = sealBox(newStore());
    expect(await box.seal("ann", "a")).not.toBe(await box.seal("ann", "a"));
  });

  it("uses the first of the keys that replicas make at once", async () => {
    const store = newStore();
    const boxes = Array.from({ length: 4 }, () => sealBox(store));
    const sealed = await Promise.all(boxes.map((box) => box.seal("ann", "a")));
    for (const box of boxes) for (const one of sealed) expect(await box.open("ann", one)).toBe("a");
  });

  it("asks a store that failed again", async () => {
    const store = newStore();
    let tries = 0;
    const box = sealBox({
      secret: (name, made) =>
        tries++ === 0 ? Promise.reject(new Error("away")) : store.secret(name, made),
    });
    await expect(box.seal("ann", "a")).rejects.toThrow("away");
    expect(await box.open("ann", await box.seal("ann", "a"))).toBe("a");
  });
});
