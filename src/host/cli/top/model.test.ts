import { expect, it } from "vitest";
import { batchSchema } from "../../../console/wire.ts";
import { turnRow } from "../../../gateway/turn-row.ts";
import { turnDone } from "../../../../test/support/turn-done.ts";
import type { TurnDone } from "../../../telemetry/happening.ts";
import type { FailureReason } from "../../../turn/failure-reason.ts";
import { TopModel } from "./model.ts";

const batch = (...turns: Partial<TurnDone>[]) => ({
  ...batchSchema.parse({
    last: turns.length,
    lost: 0,
    turns: turns.map((turn) => turnRow(turnDone(turn), () => undefined)),
    running: [],
  }),
  socket: "s",
});
const ids = (model: TopModel): string[] => model.rows().map(({ requestId }) => requestId);

it("shows the latest first, and sorts otherwise when it is told to", () => {
  const model = new TopModel();
  model.add(batch({ requestId: "slow", at: 1, ms: 90 }, { requestId: "late", at: 2, ms: 3 }));
  expect(ids(model)).toEqual(["late", "slow"]);
  model.nextSort();
  expect(ids(model)).toEqual(["slow", "late"]);
});

it("shows only what holds every word of its filter", () => {
  const model = new TopModel();
  model.add(batch({ requestId: "a", model: "gpt" }, { requestId: "b", model: "glm" }));
  model.filter = "GLM demo";
  expect(ids(model)).toEqual(["b"]);
  expect(model.chosen()?.requestId).toBe("b");
});

it("shows what runs above all else", () => {
  const model = new TopModel();
  const running = {
    requestId: "now",
    model: "m",
    upstream: "u/m",
    step: "asked",
    plan: "",
    startedAt: 0,
    ms: 5,
    calls: 0,
    attempts: 1,
  };
  model.add({ ...batch({ requestId: "over" }), running: [running] });
  expect(ids(model)).toEqual(["now", "over"]);
  model.add({ ...batch(), running: [] });
  expect(ids(model)).toEqual(["over"]);
});

it("shows in its last line why the chosen turn failed", () => {
  const model = new TopModel();
  const failed = (requestId: string, at: number, reason: FailureReason): Partial<TurnDone> => ({
    requestId,
    at,
    outcome: "failed",
    status: 401,
    fault: "upstream.auth",
    attempts: [{ upstream: "u/m", fault: "upstream.auth", reason, atMs: 0, ms: 1 }],
  });
  model.add(
    batch(
      failed("a", 2, { code: "bad_key", message: "It rejected\n the key." }),
      failed("b", 1, { message: "It is another." }),
    ),
  );
  expect(model.lines("Patchbay", 200, 12).at(-1)).toBe("  It rejected the key.");
  expect(model.lines("Patchbay", 200, 12).join()).toContain("upstream.auth (bad_key)");
  model.move(1);
  expect(model.lines("Patchbay", 200, 12).at(-1)).toBe("  It is another.");
});

it("fits its screen, and lets no name of a client's move the cursor", () => {
  const model = new TopModel();
  const long = Array.from({ length: 50 }, (_, at) => ({
    requestId: `r${at}`,
    model: "\u001B[2Jx",
  }));
  model.add(batch(...long));
  model.move(40);
  const lines = model.lines("Patchbay", 70, 12);
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(70);
  expect(lines.join("")).not.toContain("\u001B");
  expect(lines.filter((line) => line.startsWith(">"))).toHaveLength(1);
});
