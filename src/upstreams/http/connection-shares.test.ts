import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import { ConnectionShares } from "./connection-shares.ts";

function open(connections: number) {
  const clock = stillClock();
  const shares = new ConnectionShares({ connections, waitMs: 1000, clock });
  const events: string[] = [];
  const enter = (tenant: string, name = tenant): (() => void) => {
    const waiting = {
      start: () => void events.push(`${name} starts`),
      late: () => void events.push(`${name} is late`),
    };
    shares.enter(tenant, waiting);
    return () => shares.leaveQueue(tenant, waiting);
  };
  return { shares, clock, events, enter };
}

describe("the connections of an upstream", () => {
  it("are had at once while there are some", () => {
    const { events, enter, clock } = open(2);
    enter("ann");
    enter("bob");
    expect([events, clock.waiting()]).toEqual([["ann starts", "bob starts"], 0]);
  });

  it("are not waited for without end", () => {
    const { events, enter, clock, shares } = open(1);
    enter("ann");
    enter("bob");
    clock.move(1000);
    expect(events).toEqual(["ann starts", "bob is late"]);
    shares.leave("ann");
    enter("cid");
    expect(events.at(-1)).toBe("cid starts");
  });

  it("go to the tenants in turn", () => {
    const { events, enter, shares } = open(1);
    enter("ann", "1");
    for (const name of ["2", "3", "4"]) enter("ann", name);
    enter("bob", "5");
    for (let at = 0; at < 4; at++) shares.leave(events.at(-1)?.startsWith("5") ? "bob" : "ann");
    expect(events).toEqual(["1 starts", "2 starts", "5 starts", "3 starts", "4 starts"]);
  });

  it("are not all had by one tenant, but for the one of a gateway without keys", () => {
    const { events, enter } = open(16);
    for (let at = 0; at < 20; at++) enter("ann");
    expect(events).toHaveLength(14);
    enter("bob");
    expect(events.at(-1)).toBe("bob starts");
    const alone = open(16);
    for (let at = 0; at < 20; at++) alone.enter(LOCAL_TENANT);
    expect(alone.events).toHaveLength(16);
  });

  it("are not taken by who has left the queue", () => {
    const { events, enter, shares, clock } = open(1);
    enter("ann");
    enter("bob")();
    enter("cid");
    shares.leave("ann");
    expect(events).toEqual(["ann starts", "cid starts"]);
    expect(clock.waiting()).toBe(0);
  });
});
