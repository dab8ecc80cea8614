import { expect, it } from "vitest";
import { turnDone } from "../../../test/support/turn-done.ts";
import { Bus } from "../bus.ts";
import { RecentTurns } from "../recent-turns.ts";
import { feedBatch } from "./console.ts";
import { Notices } from "./notices.ts";
import { batchSchema, type FeedBatch } from "./wire.ts";

/** A gateway with turns that the test makes, and its batches by their queries. */
function openFeed() {
  const recent = new RecentTurns(1000);
  const notices = new Notices(() => 5);
  const gateway = { recent, running: () => [], priceOf: () => undefined };
  const ask = (query: string): FeedBatch =>
    batchSchema.parse(JSON.parse(JSON.stringify(feedBatch(gateway, notices, query))));
  const turn = (requestId: string, outcome: "completed" | "failed" = "completed"): void =>
    recent.add(turnDone({ requestId, outcome }));
  return { recent, notices, ask, turn };
}

const idsOf = ({ turns }: FeedBatch): string[] => turns.map(({ requestId }) => requestId);

it("gives the latest turns, then those after the number of the last batch", () => {
  const { ask, turn } = openFeed();
  for (const id of ["a", "b"]) turn(id);
  expect(idsOf(ask(""))).toEqual(["a", "b"]);
  const { last } = ask("last=1");
  expect(idsOf(ask("last=1"))).toEqual(["b"]);
  expect(idsOf(ask(`since=${last}`))).toEqual([]);
  for (const id of ["c", "d"]) turn(id);
  expect(idsOf(ask(`since=${last}`))).toEqual(["c", "d"]);
});

it.each(["since=-1", "since=x", "since=", "since=1e999", "last=-3", "last=x", "most=x"])(
  "takes a number that is none as not given: %s",
  (query) => {
    const { ask, turn } = openFeed();
    turn("a");
    expect(idsOf(ask(query))).toEqual(query.includes("1e999") ? [] : ["a"]);
  },
);

it("counts the turns that are no longer kept", () => {
  const { recent, ask, turn } = openFeed();
  for (const id of ["a", "b", "c"]) turn(id);
  expect(idsOf(ask("since=2"))).toEqual(["c"]);
  recent.resize(1);
  expect(ask("since=1")).toMatchObject({ last: 3, lost: 1 });
});

it("counts successes that are too many to read, and leaves no failure out", () => {
  const { ask, turn } = openFeed();
  for (let at = 0; at < 500; at++) turn(String(at), at % 100 === 7 ? "failed" : "completed");
  const { turns, unsent } = ask("since=0&most=50");
  expect(turns.filter((row) => row.type === "turn" && row.outcome === "failed")).toHaveLength(5);
  expect([turns.length, unsent]).toEqual([55, 445]);
  expect(ask("since=0")).toMatchObject({ unsent: 0, turns: { length: 500 } });
});

it("tells of what happened to the gateway itself, and of nothing past without past turns", () => {
  const { notices, ask } = openFeed();
  const bus = new Bus();
  bus.subscribe(notices.add);
  bus.report({ type: "reload", ok: true, problems: [] });
  bus.report(turnDone());
  const batch = ask("");
  expect(batch.notices).toEqual([{ at: 5, type: "reload", ok: true, problems: [] }]);
  expect(ask("last=0").notices).toEqual([]);
  expect(ask(`notices=${batch.lastNotice}`).notices).toEqual([]);
  bus.report({ type: "reload", ok: false, problems: ["x"] });
  expect(ask(`notices=${batch.lastNotice}`).notices).toMatchObject([{ ok: false }]);
});
