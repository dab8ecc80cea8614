import { describe, expect, it } from "vitest";
import { CreationOrder } from "./creation-order.ts";

const filled = (count: number): CreationOrder => {
  const order = new CreationOrder();
  for (let at = 0; at < count; at++) order.add(at, `id-${at}`);
  return order;
};

describe("ids in the order in which they were added", () => {
  it("are walked from either end, and from behind any of them", () => {
    const order = filled(4);
    expect([...order.walk("asc")]).toEqual(["id-0", "id-1", "id-2", "id-3"]);
    expect([...order.walk("desc")]).toEqual(["id-3", "id-2", "id-1", "id-0"]);
    expect([...order.walk("asc", 1)]).toEqual(["id-2", "id-3"]);
    expect([...order.walk("desc", 1)]).toEqual(["id-0"]);
  });

  it("are walked from behind one that is deleted, before and after it gives way", () => {
    for (const gone of [[1], [0, 1, 2]]) {
      const order = filled(5);
      for (const at of gone) order.delete(at);
      expect(order.size).toBe(5 - gone.length);
      expect([...order.walk("asc", 1)].at(-1)).toBe("id-4");
      expect([...order.walk("asc", 1)]).not.toContain("id-1");
      expect([...order.walk("desc", 1)]).toEqual(gone.length === 1 ? ["id-0"] : []);
    }
  });

  it("deletes each once, and none that it does not have", () => {
    const order = filled(3);
    order.delete(1);
    order.delete(1);
    order.delete(7);
    expect(order.size).toBe(2);
    order.delete(0);
    order.delete(2);
    expect(order.size).toBe(0);
  });
});
