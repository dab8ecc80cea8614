import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { turnDone } from "../../../test/support/turn-done.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { Bus } from "../bus.ts";
import { RecentTurns } from "../recent-turns.ts";
import { Feed } from "./feed.ts";
import { Notices } from "./notices.ts";
import { batchSchema, type FeedBatch } from "./wire.ts";

/** A feed of turns that the test makes, and a watcher that may stop reading. */
function openFeed() {
  const clock = stillClock();
  const recent = new RecentTurns(1000);
  const notices = new Notices(() => 5);
  const gateway = { recent, running: () => [], priceOf: () => undefined };
  const feed = new Feed({ gateway, notices, clock });
  const watch = (headers: Exchange["headers"] = {}, query = "") => {
    const batches: FeedBatch[] = [];
    const watcher = { isFull: false, drain: () => {}, leave: () => {} };
    feed.serve({
      method: "GET",
      path: "/feed",
      query,
      headers,
      body: "",
      reply: {
        head() {},
        end() {},
        write(data) {
          const [, json = ""] = /^data: (.*)$/m.exec(String(data)) ?? [];
          batches.push(batchSchema.parse(JSON.parse(json)));
          return !watcher.isFull;
        },
        onDrain: (then) => (watcher.drain = then),
        onLeave: (then) => (watcher.leave = then),
      },
    });
    return { batches, watcher };
  };
  const turn = (requestId: string, outcome: "completed" | "failed" = "completed"): void =>
    recent.add(turnDone({ requestId, outcome }));
  return { clock, recent, notices, feed, watch, turn };
}

const idsOf = (batches: readonly FeedBatch[]): string[][] =>
  batches.map(({ turns }) => turns.map(({ requestId }) => requestId));

it("sends what was there first, then batches of at most four a second", () => {
  const { clock, watch, turn } = openFeed();
  turn("a");
  const { batches } = watch();
  turn("b");
  turn("c");
  expect(idsOf(batches)).toEqual([["a"]]);
  clock.move(249);
  expect(idsOf(batches)).toEqual([["a"]]);
  clock.move(1);
  expect(idsOf(batches)).toEqual([["a"], ["b", "c"]]);
  // Nothing is sent where nothing happens.
  clock.move(1000);
  expect(batches).toHaveLength(2);
});

it("goes on behind the number that a watcher has seen, and tells what is gone", () => {
  const { recent, watch, turn } = openFeed();
  for (const id of ["a", "b", "c"]) turn(id);
  expect(idsOf(watch({ "last-event-id": "2" }).batches)).toEqual([["c"]]);
  recent.resize(1);
  expect(watch({ "last-event-id": "1" }).batches).toMatchObject([{ last: 3, lost: 1 }]);
});

it("counts successes that are too many to read, and leaves no failure out", () => {
  const { clock, watch, turn } = openFeed();
  const { batches } = watch();
  for (let at = 0; at < 500; at++) turn(String(at), at % 100 === 7 ? "failed" : "completed");
  clock.move(250);
  const [, batch] = batches;
  expect(
    batch?.turns.filter((row) => row.type === "turn" && row.outcome === "failed"),
  ).toHaveLength(5);
  expect([batch?.turns.length, batch?.unsent]).toEqual([55, 445]);
});

it("sends nothing to who does not read, and nothing at all once everybody has left", () => {
  const { clock, feed, watch, turn } = openFeed();
  const { batches, watcher } = watch();
  watcher.isFull = true;
  turn("a");
  clock.move(250);
  turn("b");
  clock.move(250);
  expect(idsOf(batches)).toEqual([[], ["a"]]);
  watcher.isFull = false;
  watcher.drain();
  clock.move(250);
  expect(idsOf(batches)).toEqual([[], ["a"], ["b"]]);
  watcher.leave();
  turn("c");
  clock.move(500);
  expect([batches.length, feed.watchers]).toEqual([3, 0]);
});

it("tells of what happened to the gateway itself", () => {
  const { clock, notices, watch } = openFeed();
  const { batches } = watch();
  const bus = new Bus();
  bus.subscribe(notices.add);
  bus.report({ type: "reload", ok: true, problems: [] });
  bus.report(turnDone());
  clock.move(250);
  expect(batches[1]?.notices).toEqual([{ at: 5, type: "reload", ok: true, problems: [] }]);
});
