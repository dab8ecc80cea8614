import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { formsOf } from "../../src/upstreams/http/secrets.ts";
import { answerInChat, chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, frame, json, sse, type Model } from "../support/fake-upstream.ts";
import { onto } from "../support/serve.ts";
import { recordedGateway } from "./recorded-gateway.ts";

const hello: Model = ({ body }) => answerInChat(body, { text: "Hello there" });
const request = { model: "m", stream: true, messages: [{ role: "user", content: "Say hello" }] };
const CHAT = "/v1/chat/completions";
const all = { telemetry: { recording: "all" } } as const;

describe("recording", () => {
  it("is off where nobody asks for it", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway(onto("chat", upstream.url));
    await test.ask(CHAT, request);
    expect(test.files()).toEqual([]);
  });

  it("writes a turn with both sides to a file that only its owner reads", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway({ ...onto("chat", upstream.url), ...all });
    const answer = await test.ask(CHAT, request);
    const [file = ""] = test.files();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    const lines = (test.bundles()[0] ?? "")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { line: string; text?: string });
    // The turn may be over before its upstream has closed the answer.
    const seen = new Set(lines.map(({ line }) => line));
    seen.delete("upstream-end");
    expect([...seen]).toEqual([
      "bundle",
      "settings",
      "client-request",
      "upstream-request",
      "upstream-head",
      "upstream-bytes",
      "client-head",
      "client-bytes",
      "client-end",
      "plan",
      "done",
      "seal",
    ]);
    const shown = lines.filter(({ line }) => line === "client-bytes").map(({ text = "" }) => text);
    expect(shown.join("")).toHaveLength(answer.length);
    expect(test.bundles()[0]).not.toContain("Say hello");
  });

  it("changes no byte of an answer", async () => {
    await using upstream = await fakeUpstream(hello);
    await using off = recordedGateway(onto("chat", upstream.url));
    await using on = recordedGateway({ ...onto("chat", upstream.url), ...all });
    expect(await on.ask(CHAT, request)).toBe(await off.ask(CHAT, request));
  });

  it("of failures leaves out the turns that went well", async () => {
    await using upstream = await fakeUpstream(({ body }, at) =>
      at === 0 ? answerInChat(body, { text: "Hello" }) : json({ error: { message: "no" } }, 500),
    );
    await using test = recordedGateway({
      ...onto("chat", upstream.url),
      telemetry: { recording: "failures" },
    });
    await test.ask(CHAT, request);
    expect(test.files()).toHaveLength(0);
    await test.ask(CHAT, request);
    expect(test.files()).toHaveLength(1);
    await test.ask(CHAT, "{ no JSON");
    expect(test.files()).toHaveLength(2);
  });

  it("can be asked for by a header where nobody needs a key, or by a tenant that may", async () => {
    await using upstream = await fakeUpstream(hello);
    const asking = { "x-patchbay-record": "true" };
    await using open = recordedGateway(onto("chat", upstream.url));
    await open.ask(CHAT, request, asking);
    expect(open.files()).toHaveLength(1);
    await using keyed = recordedGateway({
      ...onto("chat", upstream.url),
      server: {
        keys: [
          { name: "operator", key: "key-of-operator" },
          { name: "guest", key: "key-of-guest" },
        ],
      },
      recording: { by_header: ["operator"] },
    });
    await keyed.ask(CHAT, request, { ...asking, authorization: "Bearer key-of-guest" });
    expect(keyed.files()).toHaveLength(0);
    await keyed.ask(CHAT, request, { ...asking, authorization: "Bearer key-of-operator" });
    expect(keyed.files()).toHaveLength(1);
  });

  it("can be switched on for a while and back", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway(onto("chat", upstream.url));
    expect(test.gateway.recorder.order({ mode: "all" }).mode).toBe("all");
    await test.ask(CHAT, request);
    expect(test.gateway.recorder.order(undefined)).toMatchObject({ mode: "off", written: 1 });
    await test.ask(CHAT, request);
    expect(test.files()).toHaveLength(1);
  });

  it("keeps no more turns than it may", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway({
      ...onto("chat", upstream.url),
      ...all,
      recording: { keep: { turns: 2 } },
    });
    for (let turn = 0; turn < 4; turn++)
      await test.ask(CHAT, request, { "x-request-id": `turn-${turn}` });
    expect(test.files().map((file) => /turn-\d/.exec(file)?.[0])).toEqual(["turn-2", "turn-3"]);
  });

  it("that cannot be written is told once, and turns go on", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway({ ...onto("chat", upstream.url), ...all });
    writeFileSync(test.folder, "a file in its place");
    expect(await test.ask(CHAT, request)).toContain("[DONE]");
    expect(await test.ask(CHAT, request)).toContain("[DONE]");
    const told = test.happenings.filter(({ type }) => type === "unwritable");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ setting: "recording.folder", path: test.folder });
  });

  it.skipIf(process.getuid?.() === 0)("goes on where its folder is read-only", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway({ ...onto("chat", upstream.url), ...all });
    mkdirSync(test.folder);
    chmodSync(test.folder, 0o500);
    expect(await test.ask(CHAT, request)).toContain("[DONE]");
    expect(test.happenings.some(({ type }) => type === "unwritable")).toBe(true);
    chmodSync(test.folder, 0o700);
  });

  it("leaves out a turn that is too large to hold, and says so", async () => {
    await using upstream = await fakeUpstream(hello);
    await using test = recordedGateway({ ...onto("chat", upstream.url), ...all });
    const messages = [{ role: "user", content: "x".repeat(9 * 1024 * 1024) }];
    expect(await test.ask(CHAT, { ...request, messages })).toContain("[DONE]");
    expect(test.files()).toEqual([]);
    expect(test.happenings.filter(({ type }) => type === "unwritable")).toHaveLength(1);
  });
});

/** Secrets of every kind, with characters that are escaped. */
const secrets = {
  client: "client/key+with=signs",
  upstream: 'sk-up"stream\\canary/é+1',
  header: "header-canary-value-1",
  query: "query canary 77",
  variable: "variable-canary-ABCDEF",
  unknown: "ghp_0123456789abcdefghijABCDEFGHIJ012345",
};

describe.each(["masked", "full"] as const)("a bundle whose content is %s", (content) => {
  it("holds no secret, however it was written or cut", async () => {
    const every = Object.values(secrets);
    const spoken = every.flatMap((secret) => [secret, ...formsOf(secret)]).join(" ");
    const pieces = Array.from(spoken.matchAll(/[\s\S]{1,5}/g), ([piece]) => piece);
    await using upstream = await fakeUpstream(({ body }, at) =>
      at % 2 === 0
        ? sse(
            ...pieces.map((text) => chunk(0, { content: text })),
            frame({ choices: [{ index: 0, delta: { content: spoken }, finish_reason: "stop" }] }),
            done,
          )
        : json({ error: { message: `Bad key ${spoken}: ${JSON.stringify(body)}` } }, 401),
    );
    await using test = recordedGateway(
      {
        ...all,
        ...onto("chat", `${upstream.url}?api_key=${encodeURIComponent(secrets.query)}`, {
          api_key: secrets.upstream,
          headers: { "x-auth-token": secrets.header },
        }),
        server: { keys: [{ name: "one", key: secrets.client }] },
        recording: { content },
      },
      { environment: { SOME_API_TOKEN: secrets.variable } },
    );
    const asked = {
      ...request,
      user: secrets.client,
      messages: [{ role: "user", content: `Keys: ${spoken} ${JSON.stringify({ every })}` }],
      tools: [{ type: "function", function: { name: "look", description: spoken } }],
      metadata: { [secrets.variable]: secrets.header },
    };
    const headers = {
      authorization: `Bearer ${secrets.client}`,
      "x-other": secrets.variable,
      cookie: secrets.unknown,
    };
    await test.ask(CHAT, asked, headers);
    await test.ask(CHAT, { ...asked, stream: false }, headers);
    expect(test.bundles()).toHaveLength(2);
    for (const bundle of test.bundles()) {
      const wires = bundle
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
      const text = (name: string): string =>
        wires.flatMap((line) => (line["line"] === name ? [String(line["text"])] : [])).join("");
      const said = [...text("upstream-bytes").matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)];
      const joined = said.map(([, piece = ""]) => JSON.parse(`"${piece}"`) as string).join("");
      for (const secret of every)
        // A key that nobody here knows is found by its look alone.
        for (const variant of secret === secrets.unknown ? [secret] : formsOf(secret)) {
          expect(bundle).not.toContain(variant);
          expect(joined).not.toContain(variant);
        }
    }
  });
});

it("a masked bundle holds no word of the conversation", async () => {
  const words = ["Zanzibar", "quokka", "4711", "Ærøskøbing", "東京都", "naïveté"];
  const args = JSON.stringify({ city: words[0], count: 4711, deep: [{ a: words[1] }] });
  await using upstream = await fakeUpstream(({ body }) =>
    answerInChat(body, {
      text: words.join(" "),
      calls: [{ id: "call_1", name: "look", arguments: args }],
    }),
  );
  await using test = recordedGateway({ ...onto("chat", upstream.url), ...all });
  await test.ask("/v1/responses", {
    model: "m",
    stream: true,
    instructions: words.join(", "),
    input: [
      { role: "user", content: [{ type: "input_text", text: words.join(" ") }] },
      { type: "function_call", call_id: "call_0", name: "look", arguments: args },
      { type: "function_call_output", call_id: "call_0", output: words.join("\n") },
    ],
    metadata: { who: words[1] },
    tools: [
      {
        type: "function",
        name: "look",
        description: words.join(" "),
        parameters: { type: "object", properties: { city: { type: "string", enum: [words[0]] } } },
      },
    ],
  });
  const [bundle = ""] = test.bundles();
  for (const word of words) expect(bundle).not.toContain(word);
  expect(bundle).toContain("look");
});
