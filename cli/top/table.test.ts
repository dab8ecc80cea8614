import { expect, it } from "vitest";
import { batchSchema } from "../../src/observe/console/wire.ts";
import { turnRow } from "../../src/gateway/run/prices.ts";
import { turnDone } from "../../test/support/turn-done.ts";
import type { TurnDone } from "../../src/observe/happening.ts";
import type { FailureReason } from "../../src/turn/failure-reason.ts";
import { TopModel } from "./table.ts";

const batch = (...turns: Partial<TurnDone>[]) => ({
  ...batchSchema.parse({
    last: turns.length,
    lost: 0,
    turns: turns.map((turn) => turnRow(turnDone(turn), () => undefined)),
    running: [],
  }),
  socket: "s",
});
const texts = (model: TopModel, columns = 200): string[] =>
  model.lines("Patchbay", columns, 12).map((line) => (typeof line === "string" ? line : line.text));
const pressAll = (model: TopModel, text: string): void => {
  for (const letter of text) model.press(letter, letter);
};
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

it("shows that it is filtering, and lets Esc clear the filter, while it is typed and after", () => {
  const model = new TopModel();
  model.add(
    batch({ requestId: "a", model: "gpt", at: 2 }, { requestId: "b", model: "glm", at: 1 }),
  );
  model.move(1);
  pressAll(model, "f");
  expect(texts(model)[1]).toContain("filter: _");
  pressAll(model, "sqgp");
  model.press("backspace", "");
  expect(texts(model)[1]).toBe("filter: sqg_   Enter applies it   Esc clears it");
  expect([texts(model).at(-1), model.chosen()]).toEqual([
    "  Nothing matches `sqg`; Esc clears the filter.",
    undefined,
  ]);
  model.press("escape", "");
  expect([ids(model), model.filter, model.isTyping]).toEqual([["a", "b"], "", false]);
  pressAll(model, "fglm");
  model.press("return", "");
  expect(texts(model)[1]).toMatch(/^filter: glm {3}Esc clears it {3}/);
  expect(model.chosen()?.requestId).toBe("b");
  model.press("escape", "");
  expect([ids(model), texts(model)[1]?.startsWith("s sort: ")]).toEqual([["a", "b"], true]);
});

it("says that there are no turns yet, which is not that none matches", () => {
  const model = new TopModel();
  expect(texts(model).at(-1)).toBe("  No turns yet.");
});

it("tells what failed and what runs apart by tones", () => {
  const model = new TopModel();
  model.add(batch({ requestId: "well", at: 1 }, { requestId: "bad", at: 2, outcome: "failed" }));
  const tones = model
    .lines("Patchbay", 200, 12)
    .map((line) => (typeof line === "string" ? "" : line.tone));
  expect(tones).toEqual(["", "", "head", "wrong", ""]);
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
  expect(texts(model).join()).toContain("upstream.auth (bad_key)");
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
  const lines = texts(model, 70);
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(70);
  expect(lines.join("")).not.toContain("\u001B");
  expect(lines.filter((line) => line.startsWith(">"))).toHaveLength(1);
});
