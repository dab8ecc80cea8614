import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeUpstream, type FakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { geminiCli, geminiFolder, missing, pixel, type GeminiRun } from "./gemini-cli.ts";
import {
  again,
  type Back,
  backs,
  callIds,
  found,
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

type Runs = { readonly first: Played; readonly resumed: Played };

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

/** Runs a conversation until it breaks off, and afterwards takes it up again. */
async function play(back: Back): Promise<Runs> {
  const upstream = await fakeUpstream(modelOf(back));
  // Most servers of Messages have no web search, unlike Anthropic's.
  const more = back === "messages" ? { profile: "anthropic" } : {};
  const served = await serve({ ...onto(back, upstream.url, more), models });
  const folder = geminiFolder();
  const place = { upstream, served, folder };
  const first = playedBy({ ...place, run: await geminiCli(folder, served.url, prompt) });
  opened.push(first);
  const resume = ["--resume", "latest"];
  const resumed = playedBy({ ...place, run: await geminiCli(folder, served.url, again, resume) });
  return { first, resumed };
}

const playedBy = (of: Omit<Played, "asked">): Played => ({
  ...of,
  asked: of.upstream.requests.filter(isTurn),
});

describe.skipIf(missing)("Gemini CLI", () => {
  let all: ReadonlyMap<Back, Runs>;

  // All at once: most of the time of each is spent on starting.
  beforeAll(async () => {
    all = new Map(await Promise.all(backs.map(async (back) => [back, await play(back)] as const)));
  }, 240_000);

  describe.each(backs)("on a %s upstream", (back) => {
    const of = () => {
      const runs = all.get(back);
      if (runs === undefined) throw new Error("It was not played.");
      return runs;
    };

    it("comes to the end that the model comes to", () => {
      expect(of().resumed.run).toMatchObject({ code: 0, said: "All steps are done." });
    });

    it("runs each call once: one, two at once, a shell command, one of forty MCP tools", () => {
      const { folder } = of().first;
      expect(["note", "a", "b", "write_7"].map((name) => folder.read(`${name}.txt`))).toEqual([
        "noted",
        "one",
        "two",
        "seven",
      ]);
    });

    it("gives each result to the model, once and under the id of its call", () => {
      const last = of().first.asked.at(-1);
      expect([...resultsIn(back, last?.body ?? {}).keys()]).toEqual(callIds);
    });

    it("offers the model all forty tools of the MCP server", () => {
      const [first] = of().first.asked;
      const names = new Set(first?.text.match(/mcp_lab_write_\d+/g));
      expect(names.size).toBe(40);
    });

    it("shows the model the picture that a tool has read", () => {
      const { text = "" } = of().first.asked.at(-1) ?? {};
      expect(text).toMatch(/image\/png/);
      expect(text).toContain(pixel);
    });

    it("tells the model of a call that failed", () => {
      const last = of().first.asked.at(-1);
      expect(resultsIn(back, last?.body ?? {}).get("call_lost")).toMatch(/not found|no such/i);
    });

    it("searches the web where the upstream does, and reports to the model where none does", () => {
      const last = of().first.asked.at(-1);
      const said = resultsIn(back, last?.body ?? {}).get("call_search");
      expect(said).toContain(
        back === "chat"
          ? "`web_search` cannot be run"
          : `${found}[1]\n\nSources:\n[1] The tower (https://tower.example/)`,
      );
      const helper = of()
        .first.served.turns()
        .filter(({ model }) => model === "gemini-3-flash-preview");
      expect(helper.map(({ outcome }) => outcome)).toEqual([
        back === "chat" ? "failed" : "completed",
      ]);
    });

    it("lets a subagent run a command, and gives its report to the model", () => {
      const { folder, asked } = of().first;
      expect(folder.read("errand.txt")).toBe("ran");
      const said = resultsIn(back, asked.at(-1)?.body ?? {});
      expect(said.get("call_agent")).toContain("The errand is done.");
    });

    it("takes a conversation up again with its calls and results, and runs none anew", () => {
      const { asked, folder } = of().resumed;
      const last = asked.at(-1);
      expect(last?.text).toContain(again);
      expect([...resultsIn(back, last?.body ?? {}).keys()]).toEqual(callIds);
      expect(folder.read("errand.txt")).toBe("ran");
    });

    it("shows no thoughts as text, and gives the model its own back", () => {
      expect(of().first.run.said).not.toContain(thought);
      expect(of().first.asked.at(-1)?.text).toContain(reasoningIn(back));
    });

    it("runs no call of an answer that broke off, and asks only once", () => {
      const { run, folder, asked } = of().first;
      expect(run.code).not.toBe(0);
      expect(folder.read("broken.txt")).toBeUndefined();
      const answered = ({ body }: ReceivedRequest): boolean =>
        resultsIn(back, body).has("call_agent");
      expect(asked.filter(answered)).toHaveLength(1);
    });
  });
});
