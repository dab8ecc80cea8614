import * as fc from "fast-check";
import { expect, it } from "vitest";
import { turnDone } from "../../test/support/turn-done.ts";
import { RecentTurns } from "./recent-turns.ts";

const named = (requestId: string, model = "m") => turnDone({ requestId, model });
const idsSince = (recent: RecentTurns, number: number): readonly string[] =>
  recent.since({ since: number }).turns.map(({ requestId }) => requestId);

it("keeps the latest, and tells how many are gone", () => {
  const recent = new RecentTurns(3);
  for (const id of ["a", "b", "c", "d", "e"]) recent.add(named(id));
  expect(recent.since({ since: 0 })).toMatchObject({ last: 5, lost: 2 });
  expect(idsSince(recent, 0)).toEqual(["c", "d", "e"]);
  expect(idsSince(recent, 4)).toEqual(["e"]);
  expect(recent.since({ since: 5 })).toEqual({ turns: [], last: 5, lost: 0 });
});

it("numbers the turns of a tenant by themselves", () => {
  const recent = new RecentTurns(3);
  for (const [at, tenant] of ["ann", "ben", "ann", "ben", "ann"].entries())
    recent.add(turnDone({ requestId: String(at), tenant }));
  const idsOf = (wanted: Parameters<RecentTurns["since"]>[0]) =>
    recent.since(wanted, "ann").turns.map(({ requestId }) => requestId);
  expect([idsOf({ since: 2 }), idsOf({ since: 9 })]).toEqual([["4"], ["2", "4"]]);
  expect([idsOf({ latest: 1 }), idsOf({ latest: 0 })]).toEqual([["4"], []]);
  expect(recent.since({ latest: 9 }, "ann")).toMatchObject({ last: 3, lost: 1 });
  expect(recent.since({ latest: 9 }, "cid")).toEqual({ turns: [], last: 0, lost: 0 });
});

it("takes a number that it never gave out for another gateway's", () => {
  const recent = new RecentTurns(3);
  recent.add(named("a"));
  expect(idsSince(recent, 99)).toEqual(["a"]);
});

it("holds as many as it was ever asked to, and never more bytes than it may", () => {
  const sizes = fc.array(fc.oneof(fc.nat(9), fc.constantFrom(-1, -3, -5)), { maxLength: 60 });
  fc.assert(
    fc.property(sizes, (steps) => {
      const recent = new RecentTurns(4, 20_000);
      const made: string[] = [];
      let most = 4;
      for (const step of steps)
        if (step < 0) recent.resize((most = -step));
        else {
          recent.add(named(String(made.length), "m".repeat(step * 500)));
          made.push(String(made.length));
        }
      const kept = idsSince(recent, 0);
      expect(recent.count).toBe(kept.length);
      expect(kept.length).toBeLessThanOrEqual(most);
      expect(recent.bytes <= 20_000 || kept.length === 1).toBe(true);
      expect(kept).toEqual(made.slice(made.length - kept.length));
    }),
  );
});

it("keeps nothing where nothing is to be kept, and begins again", () => {
  const recent = new RecentTurns();
  recent.add(named("a"));
  recent.resize(0);
  recent.add(named("b"));
  expect(recent.since({ since: 0 })).toMatchObject({ turns: [] });
  recent.resize(2);
  recent.add(named("c"));
  expect(idsSince(recent, 0)).toEqual(["c"]);
});

it("finds the latest of an id, and only what is a tenant's own", () => {
  const recent = new RecentTurns();
  recent.add(turnDone({ requestId: "same", tenant: "ann", status: 200 }));
  recent.add(turnDone({ requestId: "same", tenant: "ben", status: 502 }));
  expect(recent.find("same")?.turn.status).toBe(502);
  expect(recent.find("same", "ann")?.turn.status).toBe(200);
  expect(recent.find("same", "cid")).toBeUndefined();
});

it("gives a plan back with the turn that it was kept for", () => {
  const recent = new RecentTurns();
  recent.keepPlan("a", { bytes: 5, json: () => '{"object":"plan"}' });
  recent.add(named("a"));
  recent.add(named("b"));
  expect(recent.find("a")?.plan?.json()).toBe('{"object":"plan"}');
  expect(recent.find("b")?.plan).toBeUndefined();
});
