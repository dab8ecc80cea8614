import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import { parseConfig } from "../config.ts";
import { listModels, selectChain } from "./select.ts";

const config = parseConfig({
  upstreams: { quick: { dialect: "scripted" }, silent: { dialect: "scripted" } },
  models: { "*": "quick/x", best: "quick/x" },
});
/** Of an upstream only what it lists matters here. */
const listing = (
  name: string,
  models: () => Promise<string[]>,
  profile: Partial<Profile> = {},
): [string, Upstream] => [name, { name, models, profile } as unknown as Upstream];
const ids = async (upstreams: ReadonlyMap<string, Upstream>): Promise<string[]> =>
  (await listModels(config, upstreams, stillClock())).map(({ id }) => id);

describe("the list of models", () => {
  it("waits for no upstream that does not list its own in time, and has them once it did", async () => {
    const clock = stillClock();
    const late = Promise.withResolvers<string[]>();
    let asked = 0;
    const upstreams = new Map([
      listing("quick", () => Promise.resolve(["one"])),
      listing("silent", () => (asked++, late.promise)),
    ]);
    /** What is listed when so much time has passed, and no more happens by itself. */
    const list = async (ms: number): Promise<string[]> => {
      const models = listModels(config, upstreams, clock);
      await new Promise(setImmediate);
      clock.move(ms);
      return (await models).map(({ id }) => id);
    };

    expect(await list(5_000)).toEqual(["best", "quick/one"]);
    expect(await list(0)).toEqual(["best", "quick/one"]);
    late.resolve(["two"]);
    expect(await list(0)).toEqual(["best", "quick/one", "silent/two"]);
    expect(asked).toBe(1);
    expect(clock.waiting()).toBe(0);
  });

  it("has the model first that an upstream is asked by default, then those it is known for", async () => {
    const profile = { families: ["big-*"], defaultModel: "big-2" };
    const list = (models: readonly string[]) =>
      ids(new Map([listing("u", () => Promise.resolve([...models]), profile)]));
    expect(await list(["embed", "big-1", "x/big-2"])).toEqual([
      "best",
      "u/x/big-2",
      "u/big-1",
      "u/embed",
    ]);
    expect(await list(["embed", "big-1"])).toEqual(["best", "u/big-1", "u/embed"]);
  });

  it("has the default model of an upstream that lists none", async () => {
    const failing = () => Promise.reject(new Error("down"));
    const known = listing("known", failing, { defaultModel: "big" });
    expect(await ids(new Map([known, listing("unknown", failing)]))).toEqual(["best", "known/big"]);
  });

  it("keeps what an upstream listed when it fails to list it again", async () => {
    const clock = stillClock();
    const answers = [Promise.resolve(["one"]), Promise.reject(new Error("down"))];
    const upstreams = new Map([listing("quick", () => answers.shift() ?? Promise.resolve([]))]);
    for (const ms of [0, 300_000]) {
      clock.move(ms);
      expect(await listModels(config, upstreams, clock)).toHaveLength(2);
    }
    expect(answers).toEqual([]);
  });

  it("asks an upstream anew that failed", async () => {
    const clock = stillClock();
    const answers = [Promise.reject(new Error("down")), Promise.resolve(["one"])];
    const upstreams = new Map([listing("quick", () => answers.shift() ?? Promise.resolve([]))]);
    expect(await listModels(config, upstreams, clock)).toHaveLength(1);
    expect(await listModels(config, upstreams, clock)).toHaveLength(2);
  });
});

describe("a pattern under `models`", () => {
  const patterns = parseConfig({
    upstreams: { a: { dialect: "scripted" }, b: { dialect: "scripted" } },
    models: {
      "*": "a/rest",
      "gemini-*": "b/*",
      "gemini-*-lite": ["b/small", "a/small"],
      "gemini-2.5-pro": "a/exact",
    },
  });
  const upstreams = new Map(["a", "b"].map((name) => listing(name, () => Promise.resolve([]))));
  const placesOf = (name: string): string[] =>
    selectChain(name, patterns, upstreams).map((link) => link.name);

  it.each([
    ["gemini-2.5-pro", ["a/exact"]],
    ["gemini-3-flash", ["b/gemini-3-flash"]],
    ["Gemini-3.5-Flash-Lite", ["b/small", "a/small"]],
    ["gemini", ["a/rest"]],
    ["b/gemini-3-flash-lite", ["b/gemini-3-flash-lite"]],
    ["models/gemini-3-flash", ["a/rest"]],
  ])("answers for the names that fit, the longest one first: %s", (name, places) => {
    expect(placesOf(name)).toEqual(places);
  });

  it("is no name that clients are shown", async () => {
    const listed = await listModels(patterns, upstreams, stillClock());
    expect(listed.map(({ id }) => id)).toEqual(["gemini-2.5-pro"]);
  });
});
