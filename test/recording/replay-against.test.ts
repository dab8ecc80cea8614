import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { readBundle } from "../../src/observe/recording/bundle.ts";
import { replayBundle } from "../../src/observe/recording/replay/replay.ts";
import {
  replayAgainst,
  type AgainstResult,
} from "../../src/observe/recording/replay/replay-against.ts";
import { answerInChat, type FakeAnswer } from "../support/fake-model.ts";
import { answerInGemini } from "../support/fake-gemini.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { cut, fakeUpstream, frame, json, sse, type Model } from "../support/fake-upstream.ts";
import { onto } from "../support/serve.ts";
import { openTerminal } from "../terminal/terminal.ts";
import { recordedGateway } from "./recorded-gateway.ts";

const weather = {
  name: "get_weather",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
  },
};
const request = {
  model: "m",
  stream: true,
  messages: [{ role: "user", content: "How is it in Paris?" }],
  tools: [{ type: "function", function: weather }],
};
const callOf = (name: string, input: object): FakeAnswer => ({
  text: "Let me look.",
  calls: [{ id: "call_1", name, arguments: JSON.stringify(input) }],
});
const paris = callOf("get_weather", { city: "Paris", days: 2 });
const saying =
  (answer: FakeAnswer): Model =>
  ({ body }) =>
    answerInChat(body, answer);

type Scene = {
  readonly content?: "masked" | "full";
  readonly path?: string;
  readonly body?: unknown;
  readonly recorded?: Model;
};

/** The text of the bundle of one turn. */
async function bundleOf({
  content = "full",
  path = "/v1/chat/completions",
  body = request,
  recorded = saying(paris),
}: Scene): Promise<string> {
  await using upstream = await fakeUpstream(recorded);
  await using test = recordedGateway({
    ...onto("chat", upstream.url),
    telemetry: { recording: "all" },
    recording: { content },
  });
  await test.ask(path, body);
  return test.bundles()[0] ?? "";
}

type Live = Scene & {
  readonly live?: Model;
  readonly dialect?: "chat" | "messages" | "gemini";
  /** Where the live upstream is; default: where `live` answers. */
  readonly url?: string;
  readonly against?: string;
};

/** A recorded turn asked again of a live upstream. */
async function asked(scene: Live, bundle?: string): Promise<AgainstResult> {
  const { live = saying(paris), dialect = "chat", against = "fake" } = scene;
  await using upstream = await fakeUpstream(live);
  const config = parseConfig(onto(dialect, scene.url ?? upstream.url));
  const text = bundle ?? (await bundleOf(scene));
  return await replayAgainst(readBundle(text), { against, config, platform: nodePlatform() });
}

const nobody = "http://127.0.0.1:9/v1";

describe("a recorded turn asked again of a live upstream", () => {
  it("is the same where it makes the same calls", async () => {
    const { outcome } = await asked({ live: saying({ ...paris, text: "I will see." }) });
    expect(outcome).toBe("same");
  });

  it("is the same where only a value of a call differs", async () => {
    const london = callOf("get_weather", { city: "London", days: 2 });
    expect((await asked({ live: saying(london) })).outcome).toBe("same");
  });

  it("is the same on an upstream of another dialect and model", async () => {
    const result = await asked({
      dialect: "messages",
      live: ({ body }) => answerInMessages(body, paris),
      against: "fake/claude-x",
    });
    expect(result).toMatchObject({ outcome: "same", target: "fake/claude-x" });
  });

  it.each(["generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"])(
    "is the same for a client of Gemini (%s), on a Gemini upstream too",
    async (action) => {
      const scene: Live = {
        path: `/v1beta/models/m:${action}`,
        body: {
          contents: [{ role: "user", parts: [{ text: "How is it in Paris?" }] }],
          tools: [
            {
              functionDeclarations: [
                { name: weather.name, parametersJsonSchema: weather.parameters },
              ],
            },
          ],
        },
      };
      const inGemini: Model = ({ path }) => answerInGemini(path, paris);
      expect(await asked(scene)).toMatchObject({ outcome: "same" });
      const other = await asked({ ...scene, dialect: "gemini", live: inGemini });
      expect(other).toMatchObject({ outcome: "same", recorded: { calls: ["get_weather"] } });
      const talking = saying({ text: "It is warm." });
      expect(await asked({ ...scene, live: talking })).toMatchObject({
        outcome: "different",
        difference: { recorded: "get_weather" },
      });
    },
  );

  it.each([
    [
      "the first call that is another",
      saying(callOf("get_time", { city: "Paris" })),
      { what: "call 1 differs", recorded: "get_weather", live: "get_time" },
    ],
    [
      "a call that is not made",
      saying({ text: "It is warm." }),
      { what: "call 1 differs", recorded: "get_weather", live: undefined },
    ],
    [
      "a call more",
      saying({ calls: [...(paris.calls ?? []), { id: "b", name: "get_time", arguments: "{}" }] }),
      { what: "call 2 differs", recorded: undefined, live: "get_time" },
    ],
    [
      "a property that a call lacks",
      saying(callOf("get_weather", { city: "Paris" })),
      { what: "call 1 (get_weather): `days` differs", recorded: 2, live: undefined },
    ],
    [
      "a property of another type",
      saying(callOf("get_weather", { city: "Paris", days: "2" })),
      { what: "call 1 (get_weather): the type of `days` differs", recorded: 2, live: "2" },
    ],
    [
      "an answer that is cut off",
      () => sse(frame({ choices: [{ index: 0, delta: { content: "Half" } }] }), cut),
      { what: "the request fails, but the recorded one succeeded" },
    ],
  ] as const)("differs by %s", async (_, live, difference) => {
    expect(await asked({ live })).toMatchObject({ outcome: "different", difference });
  });

  it("differs where its end is another", async () => {
    const recorded = saying({ text: "It is warm." });
    const live = saying({ text: "It is", stop: "length" });
    expect((await asked({ recorded, live })).difference).toEqual({
      what: "the stop reason differs",
      recorded: "end",
      live: "length",
    });
  });

  it("differs where the upstream refuses it, and says what the upstream said", async () => {
    const { outcome, live } = await asked({
      live: () => json({ error: { message: "No such model: m" } }, 404),
    });
    expect({ outcome, status: live.status }).toEqual({ outcome: "different", status: 404 });
    expect(live.problem).toContain("No such model: m");
    expect(live.problem).not.toContain("{");
  });

  it("is the same where it fails alike", async () => {
    const refusing: Model = () => json({ error: { message: "Too long" } }, 400);
    expect((await asked({ recorded: refusing, live: refusing })).outcome).toBe("same");
  });

  it("compares only what its client stayed for", async () => {
    expect((await asked({}, await leftInText())).outcome).toBe("same");
  });

  it.each([
    [
      "of an upstream that is not configured",
      { against: "nope/m" },
      "There is no upstream `nope` in the configuration; name one of fake.",
    ],
    [
      "of no model",
      { against: "fake/" },
      "`fake/` contains no model name; write `fake` to use the recorded model (m), or `fake/MODEL`.",
    ],
    [
      "that never reached a model",
      { body: { ...request, messages: 7 } },
      "The gateway refused the recorded request before it chose a model, so there is no request for an upstream; run `patchbay explain` for the reason.",
    ],
  ] as const)("is not asked %s", async (_, scene, message) => {
    await expect(asked(scene)).rejects.toThrow(message);
  });
});

describe("a recorded turn that goes on with a stored answer", () => {
  it("cannot be asked again, and says so", async () => {
    await using upstream = await fakeUpstream(saying({ text: "Hello" }));
    const config = { ...onto("chat", upstream.url), telemetry: { recording: "all" } } as const;
    await using test = recordedGateway({ ...config, recording: { content: "full" } });
    const first = await test.ask("/v1/responses", { model: "m", input: "Hello", store: true });
    const { id } = JSON.parse(first) as { id: string };
    await test.ask("/v1/responses", { model: "m", input: "Again", previous_response_id: id });
    const bundle = readBundle(test.bundles()[1] ?? "");
    const platform = nodePlatform();
    const message =
      "The turn continues a conversation that its gateway stored (`previous_response_id`) and that the bundle does not contain, so it cannot be replayed; record a turn that sends the whole conversation.";
    await expect(replayBundle(bundle, { platform, paced: false })).rejects.toThrow(message);
    const against = { against: "fake", config: parseConfig(config), platform };
    await expect(replayAgainst(bundle, against)).rejects.toThrow(message);
  });
});

describe("patchbay replay --against", { timeout: 60_000 }, () => {
  it("says what is the same or different, in words or as JSON", async () => {
    await using upstream = await fakeUpstream((received, at) =>
      saying(at === 0 ? paris : callOf("get_time", {}))(received, at),
    );
    await using terminal = openTerminal();
    const file = terminal.write("one.bundle.jsonl", await bundleOf({}));
    terminal.configure(JSON.stringify(onto("chat", upstream.url)));
    const replayed = (...options: string[]) =>
      terminal.patchbay("replay", file, "--against", "fake", ...options);
    const recorded = "Recorded: 200, text, calls of get_weather";
    expect(await replayed()).toEqual({
      code: 0,
      errors: "",
      out: [
        recorded,
        "fake/m: 200, text, calls of get_weather",
        "The answers are the same; words and values are not compared.\n",
      ].join("\n"),
    });
    expect(await replayed()).toEqual({
      code: 1,
      errors: "",
      out: [
        recorded,
        "fake/m: 200, text, calls of get_time",
        "The answers differ: call 1 differs.",
        '  recorded: "get_weather"',
        '  now: "get_time"\n',
      ].join("\n"),
    });
    const { code, out } = await replayed("--json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      against: "fake",
      target: "fake/m",
      same: false,
      outcome: "different",
      recorded: { status: 200, calls: ["get_weather"] },
      live: { status: 200, calls: ["get_time"] },
      difference: { what: "call 1 differs", recorded: "get_weather", live: "get_time" },
    });
  });

  it("compares nothing where nobody answers", async () => {
    await using terminal = openTerminal();
    const file = terminal.write("one.bundle.jsonl", await bundleOf({}));
    terminal.configure(JSON.stringify(onto("chat", nobody)));
    const { code, out } = await terminal.patchbay("replay", file, "--against", "fake");
    expect(out).toContain("fake/m: 502, Upstream `fake` at http://127.0.0.1:9 cannot be reached");
    expect(out).toContain("Nothing was compared, because the upstream did not answer.\n");
    expect(code).toBe(3);
  });

  it("refuses what makes no sense, and asks a model nonsense only where somebody insists", async () => {
    await using upstream = await fakeUpstream(saying(paris));
    await using terminal = openTerminal();
    const file = terminal.write("one.bundle.jsonl", await bundleOf({ content: "masked" }));
    terminal.configure(JSON.stringify(onto("chat", upstream.url)));
    const replayed = (...options: string[]) =>
      terminal.patchbay("replay", file, "--against", ...options);
    expect(await replayed("fake")).toEqual({
      code: 2,
      out: "",
      errors:
        "The bundle is masked, so the model would receive replaced words. Record the turn again with `recording.content: full`, or pass `--anyway`.\n",
    });
    expect(await replayed("fake", "--paced")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("'--paced' cannot be used with option '--against") as string,
    });
    expect(await replayed("nope", "--anyway")).toMatchObject({ code: 2, out: "" });
    expect(upstream.requests).toEqual([]);
    const { code, out } = await replayed("fake", "--anyway");
    expect(out).toContain("The answers are the same; words and values are not compared.");
    expect(code).toBe(0);
    expect(upstream.requests[0]?.text).not.toContain("Paris?");
  });
});

/** The bundle of a turn whose client left behind the first words. */
async function leftInText(): Promise<string> {
  const { promise: never } = Promise.withResolvers<void>();
  await using upstream = await fakeUpstream(() =>
    sse(frame({ choices: [{ index: 0, delta: { content: "Let me" } }] }), never),
  );
  await using test = recordedGateway({
    ...onto("chat", upstream.url),
    telemetry: { recording: "all" },
    recording: { content: "full" },
  });
  const leaving = new AbortController();
  const response = await test.gateway.fetch(
    new Request("http://127.0.0.1/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
      signal: leaving.signal,
    }),
  );
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  leaving.abort();
  await test.gateway.close(0);
  return test.bundles()[0] ?? "";
}
