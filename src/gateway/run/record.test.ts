import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { MemoryLog } from "../../history/memory-log.ts";
import type { Log } from "../../history/log.ts";
import type { Happening } from "../../observe/happening.ts";
import { appendTurn } from "./record.ts";

const memory = new MemoryLog(stillClock());
const broken = (append: Log["append"]): Log =>
  Object.assign(Object.create(memory) as Log, { append });

it.each([
  ["refuses", () => Promise.reject(new RangeError("disk full of secrets"))],
  [
    "throws",
    (): Promise<void> => {
      throw new RangeError("disk full of secrets");
    },
  ],
])("reports a write that the store %s, and says nothing of its words", async (_, write) => {
  const happenings: Happening[] = [];
  const report = (happening: Happening): void => void happenings.push(happening);
  const turn = { tenant: "ann", at: 0, items: [] };
  const stored = await appendTurn({ store: broken(write), report }, turn, "req_1");
  expect(stored).toBe(false);
  expect(happenings).toMatchObject([{ type: "trouble", error: "RangeError" }]);
  expect(JSON.stringify(happenings)).not.toContain("secrets");
});
