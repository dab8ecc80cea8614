import { describe, expect, it } from "vitest";
import { serve } from "../support/serve.ts";

type Batch = { readonly last: number; readonly turns: readonly { readonly requestId: string }[] };

/** A gateway of two tenants. */
async function openTwo() {
  const gateway = await serve({
    server: {
      keys: [
        { name: "ann", key: "key-of-ann" },
        { name: "bob", key: "key-of-bob" },
      ],
    },
    console: { keep: 8 },
  });
  const headers = (tenant: string) => ({
    authorization: `Bearer key-of-${tenant}`,
    "content-type": "application/json",
  });
  return {
    async ask(tenant: string, id: string): Promise<void> {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...headers(tenant), "x-request-id": id },
        body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "Hello" }] }),
      });
      expect(response.status).toBe(200);
      await response.text();
    },
    async turns(tenant: string, query = "") {
      const response = await fetch(`${gateway.url}/v1/turns${query}`, { headers: headers(tenant) });
      const { last, turns } = (await response.json()) as Batch;
      return { last, ids: turns.map(({ requestId }) => requestId) };
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

describe("the turns that a tenant sees", () => {
  it("are numbered without those of others", async () => {
    await using gateway = await openTwo();
    for (const id of ["b1", "b2", "b3"]) await gateway.ask("bob", id);
    expect(await gateway.turns("ann")).toEqual({ last: 0, ids: [] });
    await gateway.ask("ann", "a1");
    for (const id of ["b4", "b5"]) await gateway.ask("bob", id);
    expect(await gateway.turns("ann")).toEqual({ last: 1, ids: ["a1"] });
    expect(await gateway.turns("bob", "?last=2")).toEqual({ last: 5, ids: ["b4", "b5"] });
  });

  it("are the latest of its own, and follow on from a number of its own", async () => {
    await using gateway = await openTwo();
    await gateway.ask("ann", "a1");
    await gateway.ask("ann", "a2");
    for (const id of ["b1", "b2", "b3"]) await gateway.ask("bob", id);
    expect(await gateway.turns("ann", "?last=1")).toEqual({ last: 2, ids: ["a2"] });
    expect(await gateway.turns("ann", "?since=1")).toEqual({ last: 2, ids: ["a2"] });
    expect(await gateway.turns("ann", "?since=2")).toEqual({ last: 2, ids: [] });
    // Only a gateway that was started again knows fewer than were seen.
    expect(await gateway.turns("ann", "?since=9")).toEqual({ last: 2, ids: ["a1", "a2"] });
  });

  it("keep their numbers when the oldest are gone", async () => {
    await using gateway = await openTwo();
    for (let at = 1; at <= 6; at++) await gateway.ask("ann", `a${at}`);
    for (let at = 1; at <= 4; at++) await gateway.ask("bob", `b${at}`);
    expect(await gateway.turns("ann", "?since=1")).toEqual({
      last: 6,
      ids: ["a3", "a4", "a5", "a6"],
    });
  });
});
