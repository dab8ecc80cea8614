import { expect, it } from "vitest";
import { costOf, priceOf, pricesSchema } from "./prices.ts";

it("counts cached tokens once", () => {
  const price = { input: 2, cached: 0.2, cache_write: 2.5, output: 10 };
  const usage = {
    input: 1_000_000,
    cached: 400_000,
    cacheWrite: 100_000,
    output: 100_000,
    total: 0,
  };
  expect(costOf(usage, price)).toBeCloseTo(0.5 * 2 + 0.4 * 0.2 + 0.1 * 2.5 + 0.1 * 10);
});

it("takes cached tokens for others where no price says otherwise", () => {
  const usage = { input: 10, cached: 5, output: 0, total: 10 };
  expect(costOf(usage, { input: 1_000_000, output: 0 })).toBe(10);
});

it("goes by the place that answered, then by the name that was asked for", () => {
  const [near, far] = [
    { input: 1, output: 1 },
    { input: 2, output: 2 },
  ];
  expect(priceOf({ "up/m": near, gpt: far }, "up/m", "gpt")).toBe(near);
  expect(priceOf({ gpt: far }, "up/m", "gpt")).toBe(far);
  expect(priceOf({ gpt: far }, "up/m", "constructor")).toBeUndefined();
});

it("refuses what is no price", () => {
  expect(pricesSchema.safeParse({ m: { input: -1, output: 2 } }).success).toBe(false);
  expect(pricesSchema.safeParse({ m: { input: 1, output: 2, cahced: 1 } }).success).toBe(false);
});
