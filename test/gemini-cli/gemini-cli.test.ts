import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeUpstream, type FakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { geminiCli, geminiFolder, missing, type GeminiRun } from "./gemini-cli.ts";
import {
  type Back,
  backs,
  brokenPrompt,
  callIds,
  isTurn,
  modelOf,
  prompt,
  resultsIn,
} from "./model.ts";

type Played = {
  readonly upstream: FakeUpstream;
  /** The requests for answers. */
  readonly asked: readonly ReceivedRequest[];
  readonly served: Served;
  readonly folder: ReturnType<typeof geminiFolder>;
  readonly run: GeminiRun;
};

const opened: Played[] = [];
afterAll(async () => {
  for (const { upstream, served, folder } of opened) {
    folder[Symbol.dispose]();
    await served[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  }
});

async function play(back: Back, words: string): Promise<Played> {
  const upstream = await fakeUpstream(modelOf(back));
  const served = await serve(onto(back, upstream.url));
  const folder = geminiFolder();
  const run = await geminiCli(folder, served.url, words);
  const asked = upstream.requests.filter(isTurn);
  const played = { upstream, asked, served, folder, run };
  opened.push(played);
  return played;
}

describe.skipIf(missing)("Gemini CLI", () => {
  let all: ReadonlyMap<Back, { readonly whole: Played; readonly broken: Played }>;

  // All at once: most of the time of each is spent on starting.
  beforeAll(async () => {
    const played = backs.map(async (back) => {
      const [whole, broken] = await Promise.all([play(back, prompt), play(back, brokenPrompt)]);
      return [back, { whole, broken }] as const;
    });
    all = new Map(await Promise.all(played));
  }, 120_000);

  describe.each(backs)("on a %s upstream", (back) => {
    const of = () => {
      const both = all.get(back);
      if (both === undefined) throw new Error("It was not played.");
      return both;
    };

    it("comes to the end that the model comes to", () => {
      const { run } = of().whole;
      expect(run).toMatchObject({ code: 0, said: expect.stringContaining("All steps are done.") });
    });

    it("runs each call once: one, two at once, a shell command, one of forty MCP tools", () => {
      const { folder } = of().whole;
      expect(["note", "a", "b", "write_7"].map((name) => folder.read(`${name}.txt`))).toEqual([
        "noted",
        "one",
        "two",
        "seven",
      ]);
    });

    it("gives each result to the model, once and under the id of its call", () => {
      const last = of().whole.asked.at(-1);
      expect([...resultsIn(back, last?.body ?? {}).keys()]).toEqual(callIds);
    });

    it("offers the model all forty tools of the MCP server", () => {
      const [first] = of().whole.asked;
      const names = new Set(first?.text.match(/mcp_lab_write_\d+/g));
      expect(names.size).toBe(40);
    });

    it("shows the model the picture that a tool has read", () => {
      expect(of().whole.asked.at(-1)?.text).toMatch(/image\/png/);
    });

    it("tells the model of a call that failed", () => {
      const last = of().whole.asked.at(-1);
      expect(resultsIn(back, last?.body ?? {}).get("call_lost")).toMatch(/not found|no such/i);
    });

    it("runs no call of an answer that broke off, and asks only once", () => {
      const { run, folder, asked } = of().broken;
      expect(run.code).not.toBe(0);
      expect(folder.read("broken.txt")).toBeUndefined();
      expect(asked).toHaveLength(1);
    });
  });
});
