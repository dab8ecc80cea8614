import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { look, type Look, type SmokeReport } from "../../cli/commands/smoke.ts";
import { upstreamDialects } from "../support/client.ts";
import { runCommand, type CommandOutput } from "../support/command.ts";
import { chunk } from "../support/fake-model.ts";
import {
  cut,
  done,
  fakeUpstream,
  hang,
  json,
  sse,
  type Answer,
  type ReceivedRequest,
} from "../support/fake-upstream.ts";
import { loopback } from "../support/loopback.ts";
import { clientOf } from "../../cli/smoke/clients.ts";
import { scenes, type Scene } from "../../cli/smoke/scene.ts";
import { onto, serve } from "../support/serve.ts";

const smoke = (url: string, more: Partial<Look> = {}): Promise<SmokeReport> =>
  look({ url, key: undefined, expect: 2, timeout: 20, ...more });

/** Streamed and whole, in both output modes, at every door. */
const SCENES = scenes.length;

/** A stream whose clients take neither comments nor errors, so that it counts nothing and breaks off. */
const isUncounted = ({ door, stream }: Scene): boolean => stream && !clientOf(door).counts;

const flaws = ({ answers }: SmokeReport): string[] => answers.flatMap((answer) => answer.problems);
const counts = ({ answers }: SmokeReport): number[] => answers.map(({ seen }) => seen.calls.length);

const call = (city: string) => ({ name: "get_weather", arguments: { city }, chunks: 3 });
const scripted = (...steps: readonly unknown[]): ConfigInput => ({
  upstreams: { actor: { dialect: "scripted", script: [steps] } },
  models: { "*": "actor/scripted" },
});
const three = { calls: [call("Paris"), call("Zürich 東京 🏔"), call("A <b> & 'c'")] };

describe("a gateway that brings bursts through", () => {
  it("is told so of the demo, out of the box", async () => {
    await using served = await serve({});
    const report = await smoke(`${served.url}/v1/`);
    expect({ ok: report.ok, flaws: flaws(report) }).toEqual({ ok: true, flaws: [] });
    expect(counts(report)).toEqual(Array.from({ length: SCENES }, () => 2));
  });

  it("and of a larger burst", async () => {
    await using served = await serve({});
    const report = await smoke(served.url, { expect: 12 });
    expect({ ok: report.ok, flaws: flaws(report) }).toEqual({ ok: true, flaws: [] });
    expect(new Set(counts(report))).toEqual(new Set([12]));
  });

  it("and of any model, with words before the calls, whatever the arguments", async () => {
    await using served = await serve(scripted("Let me look. ", three));
    const report = await smoke(served.url, { model: "any" });
    expect({ ok: report.ok, flaws: flaws(report) }).toEqual({ ok: true, flaws: [] });
    expect(new Set(counts(report))).toEqual(new Set([3]));
  });

  it.each(upstreamDialects)("and of a chain of two over %s", async (dialect) => {
    await using far = await serve({});
    await using near = await serve(onto(dialect, `${far.url}/v1`));
    const report = await smoke(near.url, { model: "any", expect: 3 });
    expect({ ok: report.ok, flaws: flaws(report) }).toEqual({ ok: true, flaws: [] });
  });

  it("and that a rollback to single calls holds", async () => {
    const tools = { block_max: 1, stop_after_mode: "first" } as const;
    await using served = await serve({ ...scripted(three), tools });
    const report = await smoke(served.url, { expect: 1, atMost: 1 });
    expect({ ok: report.ok, flaws: flaws(report) }).toEqual({ ok: true, flaws: [] });
    expect(report.answers[0]?.seen.figures).toEqual({ count: 1, truncated: true, mode: "first" });
  });
});

describe("a gateway that does not", () => {
  it("is told that too few calls came, and that the model made no more", async () => {
    await using served = await serve(scripted({ call: call("Paris") }));
    const report = await smoke(served.url);
    expect(report.ok).toBe(false);
    for (const { scene, problems } of report.answers)
      expect(problems).toEqual([
        expect.stringMatching(
          isUncounted(scene)
            ? /^1 call came, expected 2; the whole answer beside it names the cause$/
            : /^1 call came, expected 2; the model made no more/,
        ),
      ]);
  });

  it("is told that it withheld them itself", async () => {
    await using served = await serve({ ...scripted(three), tools: { block_max: 1 } });
    const report = await smoke(served.url);
    for (const { scene, problems } of report.answers)
      expect(problems).toEqual([
        expect.stringMatching(
          isUncounted(scene)
            ? /^1 call came, expected 2; the whole answer beside it names the cause$/
            : /^1 call came, .*the gateway withheld the others/,
        ),
      ]);
  });

  it("is told what a stream failed with", async () => {
    await using served = await serve(scripted({ call: call("Paris") }, { cut: true }));
    const report = await smoke(served.url);
    expect(report.ok).toBe(false);
    for (const { scene, problems: own } of report.answers)
      expect(own[0]).toMatch(
        isUncounted(scene)
          ? /^the stream broke off \(/
          : scene.stream
            ? /^the stream failed: .*closed the stream/
            : /^HTTP 502: /,
      );
  });
});

/** Somebody else's server, which knows nothing of statistics. */
const plainly = ({ path, body }: ReceivedRequest): Answer => {
  if (path === "/v1/models") return json({ data: [{ id: "m" }] });
  if (path !== "/v1/chat/completions") return json({ error: { message: "busy" } }, 503);
  const entries = ["c1", "c2"].map((id, index) => ({
    index,
    id,
    type: "function",
    function: { name: "get_weather", arguments: '{"city":"Paris"}' },
  }));
  if (body["stream"] !== true) {
    const message = { role: "assistant", content: null, tool_calls: entries };
    return json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  }
  const frames = [
    chunk(0, { role: "assistant", content: null }),
    ...entries.map((entry) => chunk(0, { tool_calls: [entry] })),
  ];
  return sse(...frames, chunk(0, {}, "tool_calls"), done);
};

describe("what is no such gateway", () => {
  it("lacks the statistics, and is told what it answered", async () => {
    await using other = await fakeUpstream(plainly);
    const report = await smoke(other.url);
    expect(report.answers[0]?.problems).toEqual([
      "the `x-codex-stop-after-tools-mode` header is missing",
      "the statistics comment is missing",
    ]);
    expect(report.answers[1]?.problems).toEqual([
      "the `x-codex-stop-after-tools-mode` header is missing",
      "the `x-codex-tool-call-*` headers are missing",
    ]);
    expect(report.answers.at(-1)?.problems).toEqual(["HTTP 503: busy"]);
  });

  it("is told where its stream broke off", async () => {
    await using other = await fakeUpstream((heard) =>
      heard.path === "/v1/models" ? plainly(heard) : sse(chunk(0, { role: "assistant" }), cut),
    );
    const report = await smoke(other.url);
    expect(report.answers[0]?.problems).toContain("the stream ends without [DONE]");
    expect(flaws(report).filter((flaw) => /broke off \(\w+\)/.test(flaw))).toHaveLength(SCENES);
  });

  it.each([
    [{}, /lists no models; name one with `--model`/],
    ["<html>", /lists no models/],
  ])("has no model to ask", async (body, reason) => {
    await using other = await fakeUpstream(() => json(body));
    await expect(smoke(other.url)).rejects.toThrow(reason);
  });

  it("is not waited for longer than one likes", async () => {
    await using other = await fakeUpstream(() => ({ steps: [hang] }));
    await expect(smoke(other.url, { timeout: 0.05 })).rejects.toThrow(
      /^No gateway answers at .* \(timeout after 0\.05 s\); wait longer with `--timeout`/,
    );
  });
});

describe("what breaks off where no burst is told", () => {
  it.each([
    ["its models", { timeout: 0.2 }, 200],
    ["an error", { timeout: 0.2, model: "m" }, 500],
  ])("is told so: %s", async (_, options, status) => {
    await using other = await fakeUpstream(() => ({ status, steps: ['{"data":[', hang] }));
    await expect(smoke(other.url, options)).rejects.toThrow(
      /The answer of .* broke off \(timeout after 0\.2 s\); check `--url`\.$/,
    );
  });
});

describe("who is not let in", () => {
  it("is told that a key is needed, or that it is the wrong one", async () => {
    await using served = await serve({ server: { keys: ["right"] } });
    await expect(smoke(served.url)).rejects.toThrow(/HTTP 401\); pass its key with `--key`/);
    await expect(smoke(served.url, { key: "wrong" })).rejects.toThrow(/is not one of its/);
    expect((await smoke(served.url, { key: "right" })).ok).toBe(true);
  });

  it("is told of a model that is not there, and of a path that is none", async () => {
    await using served = await serve({ upstreams: { demo: { dialect: "scripted" } } });
    await expect(smoke(served.url, { model: "nobody" })).rejects.toThrow(
      /`nobody`.* Name another with `--model`\.$/s,
    );
    await expect(smoke(`${served.url}/elsewhere`)).rejects.toThrow(/HTTP 404\); check `--url`/);
  });
});

describe("patchbay smoke", () => {
  const patchbay = (words: readonly string[], env = {}): Promise<CommandOutput> =>
    runCommand(["smoke", ...words], { directory: tmpdir(), env });

  it("shows what came, and takes the key from the environment", async () => {
    await using served = await serve({ server: { keys: ["k"] } });
    const { code, out, errors } = await patchbay(["--url", served.url], { PATCHBAY_API_KEY: "k" });
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const rows = out.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "));
    expect(rows).toContain(
      "ok | chat | stream | obsidian-xml | 2: get_weather Paris, Zürich | tool_calls | count=2 truncated=false mode=burst | 2",
    );
    expect(rows).toContain(
      "ok | responses | whole | openai-json | 2: get_weather Paris, Zürich | completed | count=2 truncated=false mode=burst | 0",
    );
    expect(out.trimEnd()).toMatch(new RegExp(`${SCENES} of ${SCENES} answers are correct\\.$`));
  });

  it("fails, and says why under each answer or as JSON", async () => {
    await using served = await serve(scripted({ call: call("Paris") }));
    const { code, out } = await patchbay(["--url", served.url]);
    expect(code).toBe(1);
    expect(out).toMatch(/FAIL {2}chat +stream.*\n +1 call came, expected 2; /);
    expect(out.trimEnd()).toMatch(
      new RegExp(`0 of ${SCENES} answers are correct. The test failed\\.$`),
    );
    const told = await patchbay(["--url", served.url, "--json"]);
    expect(told.code).toBe(1);
    expect(JSON.parse(told.out)).toMatchObject({
      ok: false,
      expect: 2,
      answers: scenes.map((scene) => ({
        ok: false,
        calls: [{ name: "get_weather", arguments: '{"city":"Paris"}' }],
        figures: isUncounted(scene) ? null : { count: 1 },
      })),
    });
  });

  it("gives one line and its remedy where nobody answers", async () => {
    const { url, [Symbol.asyncDispose]: close } = await loopback(() => {});
    await close();
    const line = `No gateway answers at ${url}/v1/models (ECONNREFUSED); start it with \`patchbay serve\`, or check \`--url\`.`;
    expect(await patchbay(["--url", url])).toEqual({ code: 3, out: "", errors: `${line}\n` });
    const told = await patchbay(["--url", url, "--json"]);
    expect({ ...told, out: JSON.parse(told.out) as unknown }).toEqual({
      code: 3,
      out: { ok: false, problems: [line], answers: [] },
      errors: "",
    });
  });

  it.each([
    [["--expect", "0"], "Give a number of calls from 1 to 12."],
    [["--timeout", "soon"], "Give a number of seconds, such as 60."],
  ])("does not take %j", async (words, said) => {
    const { code, errors } = await patchbay(words);
    expect(code).toBe(2);
    expect(errors).toContain(said);
  });
});
