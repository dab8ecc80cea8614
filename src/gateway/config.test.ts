import { describe, expect, it } from "vitest";
import { overrideProfile } from "./capabilities.ts";
import { defaultCounts } from "../dialects/shared/request-counts.ts";
import { checkConfig, parseConfig } from "./config.ts";
import type { Profile } from "../turn/profile.ts";

/** Every problem as one line, the way a person reads them. */
function problemsOf(raw: unknown): string[] {
  const checked = checkConfig(raw);
  if (checked.ok) return [];
  return checked.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const chat = { dialect: "chat", base_url: "https://api.example.com/v1" };

describe("a configuration", () => {
  it("has a default for everything, and the demo answers when nothing else is named", () => {
    const config = parseConfig({});
    expect(config.upstreams).toEqual({ demo: { dialect: "scripted", models: [] } });
    expect(config.models).toEqual({ "*": ["demo/demo"] });
    expect(config.server).toEqual({
      host: "127.0.0.1",
      port: 11435,
      counts: defaultCounts,
      keys: [],
      origins: [],
      body_limit: 33554432,
      shutdown_grace_ms: 25000,
      stall_timeout_ms: 60_000,
      keepalive_ms: 15_000,
      answer_limit: 16_777_216,
      block_budget_ms: 100,
      websocket: true,
    });
    expect(config.tools).toEqual({
      strict: false,
      disclosure: "fit",
      block_max: 0,
      block_dedup: false,
      block_delimiter: "",
      stop_after: false,
      stop_after_mode: "burst",
      stop_after_grace_ms: 300,
      suppress_tail: false,
      parallel: true,
    });
    expect(config.store).toEqual({ kind: "memory" });
  });

  it("parses again to itself", () => {
    const config = parseConfig({
      server: { keys: ["", "secret", null] },
      upstreams: {
        deepseek: { ...chat, api_key: "k", capabilities: { tools: { max: 9 } } },
        codex: { dialect: "codex" },
        demo: { dialect: "scripted", script: { turns: [] } },
      },
      models: { a: "deepseek/x", b: ["deepseek/vendor/y", "demo/demo"] },
      store: { kind: "sqlite" },
    });
    expect(config.server.keys).toEqual(["secret"]);
    expect(config.models["b"]).toEqual(["deepseek/vendor/y", "demo/demo"]);
    expect(parseConfig(config)).toEqual(config);
  });

  it("names the nearest known key", () => {
    expect(
      problemsOf({
        servr: {},
        server: { prot: 1 },
        upstreams: { a: { ...chat, baseUrl: "x", api_kee: "k", timeouts: { iddle: 1 } } },
        tools: { stop_after_grace: 1, zebra: 1 },
      }),
    ).toEqual([
      "server.prot: is not a known key; did you mean `port`?",
      "upstreams.a.timeouts.iddle: is not a known key; did you mean `idle`?",
      "upstreams.a.baseUrl: is not a known key; did you mean `base_url`?",
      "upstreams.a.api_kee: is not a known key; did you mean `api_key`?",
      "tools.stop_after_grace: is not a known key; did you mean `stop_after_grace_ms`?",
      expect.stringMatching(/^tools\.zebra: is not a known key; known here: strict, disclosure/),
      "servr: is not a known key; did you mean `server`?",
    ]);
  });

  it("says where a key belongs that is none of its place", () => {
    const keys = [{ name: "ann", key: "k", limits: {} }];
    expect(problemsOf({ server: { keys, store: {} } })).toEqual([
      "server.keys.0.limits: is not a known key here; `limits` belongs at the top level",
      "server.store: is not a known key here; `store` belongs at the top level",
    ]);
  });

  it("knows which keys belong to which dialect", () => {
    expect(problemsOf({ upstreams: { demo: { dialect: "scripted", scripts: "x" } } })).toEqual([
      "upstreams.demo.scripts: is not a known key; did you mean `script`?",
    ]);
    expect(problemsOf({ upstreams: { demo: { dialect: "scripted", base_url: "x" } } })).toEqual([
      "upstreams.demo.base_url: is not a known key; known here: dialect, script, profile, capabilities, models",
    ]);
  });

  it("says what type a value must have", () => {
    expect(
      problemsOf({
        server: { port: "x", host: 5, keys: "k", body_limit: 1.5 },
        upstreams: { a: { dialect: "chat" }, b: null, e: { dialect: "codex", command: ["codex"] } },
        models: { c: 5, d: [] },
        tools: { strict: "yes", block_max: -1, output: "openai_json" },
        store: { kind: "redis" },
      }),
    ).toEqual([
      "server.host: must be text, not a number; put it in quotes",
      "server.port: must be a number, not text",
      "server.keys: must be a list, not text",
      "server.body_limit: must be a whole number",
      "upstreams.a.base_url: is missing; it must be text",
      "upstreams.b: is empty; it must be a group of keys, or leave the key out",
      "upstreams.e.command: must be text, not a list",
      "models.c: must be `upstream/model`, or a list of them",
      "models.d: is an empty list; it needs at least one entry",
      "tools.strict: must be `true` or `false`, not text",
      "tools.output: must be one of openai-json, obsidian-xml; did you mean `openai-json`?",
      "tools.block_max: must be at least 0",
      "store.kind: must be one of memory, sqlite, postgres, off",
    ]);
  });

  it("says what a number must be, and what the whole must be", () => {
    expect(
      problemsOf({
        upstreams: { a: { ...chat, timeouts: { idle: 0 }, retries: 11, connections: 0 } },
      }),
    ).toEqual([
      "upstreams.a.timeouts.idle: must be more than 0",
      "upstreams.a.retries: must be at most 10",
      "upstreams.a.connections: must be more than 0",
    ]);
    expect(problemsOf({ server: { body_limit: Infinity, shutdown_grace_ms: NaN } })).toEqual([
      "server.body_limit: must be a finite number",
      "server.shutdown_grace_ms: must be a finite number",
    ]);
    expect(problemsOf([{ server: {} }])).toEqual([": must be a group of keys, not a list"]);
  });

  it("wants a name for every upstream", () => {
    expect(problemsOf({ upstreams: { dialect: "chat", base_url: "http://x/v1" } })).toEqual([
      "upstreams.dialect: must be a group of keys, not text; give the upstream a name, and put its keys under that",
      "upstreams.base_url: must be a group of keys, not text; give the upstream a name, and put its keys under that",
    ]);
  });

  it("takes no address, header or key that could not be sent as it is written", () => {
    const at = (base_url: string): object => ({ dialect: "chat", base_url });
    expect(
      problemsOf({
        upstreams: {
          a: at("localhost:8000/v1"),
          b: at("http://user:word@host/v1"),
          c: at("https://host/v1/chat/completions"),
          d: at("https://host/v1/responses/?api-version=1"),
          e: at("https://host/v1#part"),
          f: { ...chat, headers: { "x y": "fine", fine: "a\nb", "x-name": "José", "x-no": "☃" } },
          g: { ...chat, api_key: "sk-\u200bpasted" },
          h: { ...chat, api_key: " sk-from-a-file\n", headers: { "x-name": "a\tb" } },
        },
      }),
    ).toEqual([
      "upstreams.a.base_url: is not an http(s) address; write it whole, such as `https://api.example.com/v1`",
      "upstreams.b.base_url: holds a user name or a password, and they would not be sent; use `api_key` or `headers`",
      "upstreams.c.base_url: ends in the route; leave `/chat/completions` out",
      "upstreams.d.base_url: ends in the route; leave `/responses/` out",
      "upstreams.e.base_url: holds a `#`, and what follows it would not be sent; leave it out",
      "upstreams.f.headers.x y: is no name of a header; use letters, digits and `-`",
      "upstreams.f.headers.fine: holds a character that a header cannot carry; look for line breaks and signs that do not show",
      "upstreams.f.headers.x-no: holds a character that a header cannot carry; look for line breaks and signs that do not show",
      "upstreams.g.api_key: holds a character that a header cannot carry; look for line breaks and signs that do not show",
    ]);
  });

  it("finds what else is wrong with an upstream of a misspelt dialect", () => {
    expect(
      problemsOf({
        upstreams: {
          a: { dialect: "chatt", base_url: "ftp://x", apikey: "k" },
          b: { base_url: "http://x" },
        },
      }),
    ).toEqual([
      "upstreams.a.dialect: is none of chat, responses, messages, gemini, codex, scripted; did you mean `dialect: chat`?",
      "upstreams.b.dialect: is missing; did you mean `dialect: chat`?",
      "upstreams.a.base_url: is not an http(s) address; write it whole, such as `https://api.example.com/v1`",
      "upstreams.a.apikey: is not a known key; did you mean `api_key`?",
    ]);
  });

  it("holds the numbers of a Codex upstream to what makes sense", () => {
    const config = parseConfig({ upstreams: { codex: { dialect: "codex" } } });
    expect(config.upstreams["codex"]).toMatchObject({
      processes: 1,
      seats: 32,
      queue: 1_000,
      parked: 64,
      park_ms: 600_000,
    });
    const codex = { dialect: "codex", seats: 0, queue: -1, parked: 1.5, parkd: 1 };
    expect(problemsOf({ upstreams: { codex } }).map((line) => line.split(":")[0])).toEqual([
      "upstreams.codex.seats",
      "upstreams.codex.queue",
      "upstreams.codex.parked",
      "upstreams.codex.parkd",
    ]);
  });

  it("wants models to lead to upstreams that are there", () => {
    expect(
      problemsOf({
        upstreams: { deepseek: chat, "a/b": chat },
        models: { x: "deepsek/v4", y: ["deepseek/v4", "nowhere/z"], z: "deepseek", w: "deepseek/" },
      }),
    ).toEqual([
      "upstreams.a/b: holds a slash or a blank; models are addressed as `upstream/model`, so name it without",
      "models.x: there is no upstream `deepsek`; did you mean `deepseek/v4`?",
      "models.y.1: there is no upstream `nowhere`; there are deepseek, a/b",
      "models.z: `deepseek` must be `upstream/model`; there are deepseek, a/b",
      "models.w: `deepseek/` must be `upstream/model`; there are deepseek, a/b",
    ]);
  });

  it("is a fault with every problem in its message for those who only parse", () => {
    expect(() => parseConfig({ server: { port: -1 }, tool: {} })).toThrow(
      expect.objectContaining({
        code: "config.invalid",
        message:
          "The configuration has problems:\nserver.port: must be at least 0\ntool: is not a known key; did you mean `tools`?",
      }) as Error,
    );
    expect(problemsOf("x")).toEqual([": must be a group of keys, not text"]);
  });
});

describe("capabilities", () => {
  const profile: Profile = {
    name: "generic",
    dialect: "chat",
    tools: {
      kinds: { function: "native", custom: "degrade" },
      max: 128,
      names: { chars: "A-Za-z0-9_-", max: 64 },
      choice: ["auto", "none", "required", "function"],
      parallel: true,
      declares: "turn",
      deferred: false,
      cached: false,
    },
    params: { seed: null },
    formats: ["text"],
    reasoning: "none",
    streamUsage: true,
  };

  it("override any part of a profile and leave the rest", () => {
    const { upstreams } = parseConfig({
      upstreams: {
        a: {
          ...chat,
          capabilities: {
            tools: { kinds: { custom: "refuse" }, names: { max: 32 }, choice: ["auto"] },
            params: { maxTokens: "max_tokens", effort: null },
          },
        },
      },
    });
    const { tools, params, formats } = overrideProfile(profile, upstreams["a"]?.capabilities);
    expect(tools.kinds).toEqual({ function: "native", custom: "refuse" });
    expect(tools.names).toEqual({ chars: "A-Za-z0-9_-", max: 32 });
    expect(tools.choice).toEqual(["auto"]);
    expect(params).toEqual({ seed: null, maxTokens: "max_tokens", effort: null });
    expect(formats).toEqual(["text"]);
    expect(overrideProfile(profile, undefined)).toBe(profile);
  });

  it("are checked as deep as they go", () => {
    const capabilities = {
      tools: { kinds: { custom: "degraded" }, names: { chars: "z-a" }, choise: [] },
      params: { max_token: "x" },
    };
    expect(problemsOf({ upstreams: { a: { ...chat, capabilities } } })).toEqual([
      "upstreams.a.capabilities.tools.kinds.custom: must be one of native, degrade, ignore, refuse; did you mean `degrade`?",
      "upstreams.a.capabilities.tools.names.chars: is not a set of characters; write it as between brackets, such as `A-Za-z0-9_-`",
      "upstreams.a.capabilities.tools.choise: is not a known key; did you mean `choice`?",
      "upstreams.a.capabilities.params.max_token: is not a known key; did you mean `maxTokens`?",
    ]);
  });

  it("may differ by model, and are checked there too", () => {
    const of = (models: unknown): unknown => ({
      upstreams: { a: { ...chat, capabilities: { models } } },
    });
    expect(problemsOf(of([{ match: ["v-*", "w"], history: { media: ["image"] } }]))).toEqual([]);
    expect(
      problemsOf(of([{ match: "v-*", hisory: {} }, { history: { media: ["smell"] } }])),
    ).toEqual([
      "upstreams.a.capabilities.models.0.hisory: is not a known key; did you mean `history`?",
      "upstreams.a.capabilities.models.1.history.media.0: must be one of image, file, audio",
      "upstreams.a.capabilities.models.1.match: must be the name of a model, or a list of names; `*` stands for anything",
    ]);
  });

  it("say how an effort is told, and what every request must say", () => {
    const effort = {
      none: { as: null, fields: { think: false } },
      xhigh: { as: "high", changed: true },
    };
    const asked = (capabilities: unknown): string[] =>
      problemsOf({ upstreams: { a: { ...chat, capabilities } } });
    expect(asked({ effort, fields: { split: true } })).toEqual([]);
    expect(asked({ effort: { low: { with: {} } }, fields: 5 })).toEqual([
      "upstreams.a.capabilities.effort.low.with: is not a known key; known here: as, fields, changed",
      "upstreams.a.capabilities.fields: must be a group of keys, not a number",
    ]);
  });
});
