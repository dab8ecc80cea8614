import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeUpstream, type FakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { geminiCli, geminiFolder, missing, pixel, type GeminiRun } from "./gemini-cli.ts";
import {
  type Back,
  backs,
  brokenPrompt,
  callIds,
  found,
  helperIds,
  helpersPrompt,
  isTurn,
  modelOf,
  prompt,
  reasoningIn,
  resultsIn,
  thought,
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

/** What Gemini CLI asks for by itself goes to another model than `-m` names. */
const models = { "gemini-*": "fake/helper", "*": "fake/*" };

async function play(back: Back, words: string, more?: Readonly<Record<string, string>>) {
  const upstream = await fakeUpstream(modelOf(back));
  const served = await serve({ ...onto(back, upstream.url, more), models });
  const folder = geminiFolder();
  const run = await geminiCli(folder, served.url, words);
  const played = playedBy({ upstream, served, folder, run });
  opened.push(played);
  return played;
}

const playedBy = (of: Omit<Played, "asked">): Played => ({
  ...of,
  asked: of.upstream.requests.filter(isTurn),
});

/** Helpers of Gemini CLI, and afterwards the same conversation taken up again. */
async function playHelpers(back: Back) {
  // Most servers of Messages have no web search, unlike Anthropic's.
  const first = await play(
    back,
    helpersPrompt,
    back === "messages" ? { profile: "anthropic" } : {},
  );
  const { folder, served } = first;
  const run = await geminiCli(folder, served.url, again, ["--resume", "latest"]);
  return { helpers: first, resumed: playedBy({ ...first, run }) };
}
const again = "And how was it?";

describe.skipIf(missing)("Gemini CLI", () => {
  type Runs = Readonly<Record<"whole" | "broken" | "helpers" | "resumed", Played>>;
  let all: ReadonlyMap<Back, Runs>;

  // All at once: most of the time of each is spent on starting.
  beforeAll(async () => {
    const played = backs.map(async (back) => {
      const [whole, broken, others] = await Promise.all([
        play(back, prompt),
        play(back, brokenPrompt),
        playHelpers(back),
      ]);
      return [back, { whole, broken, ...others }] as const;
    });
    all = new Map(await Promise.all(played));
  }, 240_000);

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
      const { text = "" } = of().whole.asked.at(-1) ?? {};
      expect(text).toMatch(/image\/png/);
      expect(text).toContain(pixel);
    });

    it("tells the model of a call that failed", () => {
      const last = of().whole.asked.at(-1);
      expect(resultsIn(back, last?.body ?? {}).get("call_lost")).toMatch(/not found|no such/i);
    });

    it("searches the web where the upstream does, and reports to the model where none does", () => {
      const last = of().helpers.asked.at(-1);
      const said = resultsIn(back, last?.body ?? {}).get("call_search");
      expect(said).toContain(back === "chat" ? "`web_search` cannot be run" : found);
      const helper = of()
        .helpers.served.turns()
        .filter(({ model }) => model === "gemini-3-flash-preview");
      expect(helper.map(({ outcome }) => outcome)).toEqual([
        back === "chat" ? "failed" : "completed",
      ]);
    });

    it("lets a subagent run a command, and gives its report to the model", () => {
      const { folder, asked, run } = of().helpers;
      expect(folder.read("errand.txt")).toBe("ran");
      const said = resultsIn(back, asked.at(-1)?.body ?? {});
      expect([...said.keys()]).toEqual(helperIds);
      expect(said.get("call_agent")).toContain("The errand is done.");
      expect(run).toMatchObject({ code: 0, said: "Next.\nNext.\nAll steps are done." });
    });

    it("takes a conversation up again with its calls and results, and runs none anew", () => {
      const { run, asked, folder } = of().resumed;
      expect(run).toMatchObject({ code: 0, said: "All steps are done." });
      const last = asked.at(-1);
      expect(last?.text).toContain(again);
      expect([...resultsIn(back, last?.body ?? {}).keys()]).toEqual(helperIds);
      expect(folder.read("errand.txt")).toBe("ran");
    });

    it("shows no thoughts as text, and gives the model its own back", () => {
      expect(of().helpers.run.said).not.toContain(thought);
      expect(of().helpers.asked.at(-1)?.text).toContain(reasoningIn(back));
    });

    it("runs no call of an answer that broke off, and asks only once", () => {
      const { run, folder, asked } = of().broken;
      expect(run.code).not.toBe(0);
      expect(folder.read("broken.txt")).toBeUndefined();
      expect(asked).toHaveLength(1);
    });
  });
});
