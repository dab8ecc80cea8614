import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  configOf,
  directory,
  linesOf,
  load,
  makeFolder,
  removeFolder,
  write,
} from "../../../test/support/config-folder.ts";
import type { Environment } from "./env.ts";

beforeEach(makeFolder);
afterEach(removeFolder);

describe("loading the configuration", () => {
  it("tells every problem at once, each with its line", () => {
    write(
      "patchbay.yaml",
      [
        "server:",
        "  prot: 1",
        "  port: x",
        "upstreams:",
        "  deepseek:",
        "    dialect: chat",
        "    base_url: ${DEEPSEEK_URL}",
        "    profile: deepsek",
        "    capabilities:",
        "      tools: { max: none }",
        "models:",
        "  gpt: deepsek/v4",
        "  both: [deepseek/v4, gone/x]",
        "tols: {}",
      ].join("\n"),
    );
    expect(linesOf(load({ PROXY_TOOL_BLOCK_MAX: "many" }))).toEqual([
      "patchbay.yaml:2:3 server.prot: is not a known key; did you mean `port`?",
      "patchbay.yaml:3:3 server.port: must be a number, not text",
      "patchbay.yaml:7:5 upstreams.deepseek.base_url: `DEEPSEEK_URL` is not set; export it, or give a default: `${DEEPSEEK_URL:-default}`",
      "patchbay.yaml:8:5 upstreams.deepseek.profile: there is no profile `deepsek`; did you mean `deepseek`?",
      "patchbay.yaml:10:16 upstreams.deepseek.capabilities.tools.max: must be a number, not text",
      "patchbay.yaml:12:3 models.gpt: there is no upstream `deepsek`; did you mean `deepseek/v4`?",
      "patchbay.yaml:13:23 models.both[1]: there is no upstream `gone`; there are deepseek",
      "patchbay.yaml:14:1 tols: is not a known key; did you mean `tools`?",
      "environment variable PROXY_TOOL_BLOCK_MAX: `many` is not a whole number, 0 or more; change it or unset it",
    ]);
  });

  it("hides no problem behind another, whatever they are", () => {
    const chat = "dialect: chat, base_url: 'https://models.example/v1'";
    const base = [
      ["upstreams", `fine: { ${chat} }`],
      ["upstreams", "also: { dialect: messages, base_url: 'https://models.example/v1' }"],
    ] as const;
    const entries = [
      ["upstreams", `key: { ${chat}, keys: 1 }`],
      ["upstreams", "dialect: { dialect: caht, base_url: 5, retries: x }"],
      ["upstreams", "unclear: { models: x, profile: 5 }"],
      ["upstreams", `header: { ${chat}, headers: { "a b": x, c: 1, d: "\u2028" } }`],
      ["upstreams", `profile: { ${chat}, profile: codex }`],
      ["upstreams", "codex: { dialect: codex, profile: deepseek }"],
      ["upstreams", "script: { dialect: scripted, script: ./gone.yaml }"],
      ["upstreams", "step: { dialect: scripted, script: [[5]] }"],
      ["upstreams", `__proto__: { ${chat} }`],
      ["upstreams", `kind: { ${chat}, capabilities: { tools: { kinds: { __proto__: ignore } } } }`],
      ["models", "nowhere: gone/m"],
      ["models", "__proto__: fine/m"],
      ["store", "kind: paper"],
      ["tools", "stop_after_mode: never"],
      ["telemetry", `usage_log: ${directory}`],
      ["server", "host: 0.0.0.0"],
      ["__proto__", "x: 1"],
    ] as const;
    const variables = [{ PROXY_TOOL_BLOCK_MAX: "x" }, { HTTPS_PROXY: "ftp://x" }];
    const problems = (said: readonly (readonly [string, string])[], env: Environment): string[] => {
      const sections = Map.groupBy([...base, ...said], ([section]) => section);
      const lines = [...sections].flatMap(([section, all]) =>
        [`${section}:`].concat(all.map(([, entry]) => `  ${entry}`)),
      );
      write("patchbay.yaml", lines.join("\n"));
      const loaded = load(env);
      const findings = [...(loaded.ok ? [] : loaded.findings), ...loaded.doubts];
      expect(findings).not.toEqual([]);
      return findings.map(({ path }) => path);
    };
    const alone = [
      ...entries.flatMap((entry) => problems([entry], {})),
      ...variables.flatMap((variable) => problems([], variable)),
    ];
    const together = problems(entries, { ...variables[0], ...variables[1] });
    expect(together.toSorted()).toEqual(alone.toSorted());
  });

  it("falls over nothing that can be written, and never finds nothing wrong with what is", () => {
    const keys = [
      "server upstreams models tools store telemetry kind host port keys origins dialect base_url",
      "script profile headers timeouts capabilities match names kinds effort schema usage_log turns",
      "steps call __proto__ constructor a *",
    ].flatMap((line) => line.split(" "));
    const leaf = fc.oneof(
      fc.constantFrom(
        "chat",
        "codex",
        "scripted",
        "a/b",
        "http://x/v1",
        "deepseek",
        "*",
        "/proc/x",
      ),
      fc.constantFrom("${X}", "${X:-1}", "$${", "", "\u2028"),
      fc.constantFrom(null, true, 0, -1, 1.5, 1e308, 65_536),
    );
    const { tree } = fc.letrec<{ tree: unknown; leaf: unknown }>((tie) => ({
      leaf,
      tree: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        tie("leaf"),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc
          .array(fc.tuple(fc.constantFrom(...keys), tie("tree")), { maxLength: 5 })
          .map(Object.fromEntries),
      ),
    }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...keys), tree), { maxLength: 6 }),
        (entries) => {
          write("patchbay.json", JSON.stringify(Object.fromEntries(entries)));
          const loaded = load();
          const isKnown = entries.every(([key]) => keys.indexOf(key) < 6);
          expect(loaded.ok && !isKnown).toBe(false);
          for (const finding of loaded.ok ? [] : loaded.findings)
            expect(finding.message).not.toBe("");
        },
      ),
    );
  });

  it("tells what is wrong with the environment also where the file cannot be read", () => {
    write("patchbay.yaml", "server: [");
    expect(linesOf(load({ PORT: "x" }))).toHaveLength(2);
    expect(linesOf(load({ PORT: "x" }, { file: "gone.yaml" }))).toHaveLength(2);
  });

  it("reads a number or a switch from the environment where one belongs", () => {
    write(
      "patchbay.yaml",
      "server: { port: ${P}, keys: [${KEY:-}], body_limit: ${LIMIT:-} }\ntools: { strict: ${S:-true} }\n",
    );
    const config = configOf(load({ P: "8080", KEY: "12345" }));
    expect(config.server).toMatchObject({ port: 8080, keys: ["12345"], body_limit: 33554432 });
    expect(config.tools.strict).toBe(true);
    expect(linesOf(load({ P: "eighty" }))).toEqual([
      "patchbay.yaml:1:11 server.port: must be a number, not text",
    ]);
  });

  it("finds a profile by its name and the dialect", () => {
    const upstream = (dialect: string, profile: string): void =>
      write(
        "patchbay.yaml",
        `upstreams: { a: { dialect: ${dialect}, base_url: "http://x", profile: ${profile} } }\n`,
      );
    upstream("responses", "openai");
    expect(linesOf(load())).toEqual([]);
    upstream("responses", "deepseek");
    expect(linesOf(load())).toEqual([
      "patchbay.yaml:1:61 upstreams.a.profile: is for the chat dialect, but the upstream uses responses; remove it to use the generic profile",
    ]);
  });

  it("has no note on settings that it follows", () => {
    write(
      "patchbay.yaml",
      "tools: { strict: true, disclosure: wrap, block_max: 3, parallel: true }\nstore: { kind: sqlite }\ntelemetry: { usage_log: usage.ndjson }\n",
    );
    expect(load({ PROXY_STOP_AFTER_TOOLS: "true" }).notes).toEqual([]);
    write("patchbay.yaml", "tools: { strict: true, disclosure: off }\n");
    expect(load().notes).toEqual([]);
  });

  it("keeps state in the user's state directory, unless it is told where", () => {
    const state = join(directory, "state");
    const storeWith = (env: Environment) => configOf(load(env)).store;
    expect(storeWith({ XDG_STATE_HOME: state })).toEqual({
      kind: "sqlite",
      path: join(state, "patchbay", "patchbay.db"),
    });
    // A relative path means nothing there, by the rules of that variable.
    expect(storeWith({ XDG_STATE_HOME: "state" })).not.toMatchObject({
      path: expect.stringContaining(directory),
    });
    write("patchbay.yaml", "store: off\n");
    const named = load({ XDG_STATE_HOME: state }, { file: "patchbay.yaml" });
    expect(configOf(named).store).toEqual({ kind: "off" });
    write("patchbay.yaml", "store: { kind: memory, max_bytes: 1000, max_age_days: 0.5 }\n");
    expect(storeWith({})).toEqual({ kind: "memory", max_bytes: 1000, max_age_days: 0.5 });
    expect(existsSync(state)).toBe(false);
  });

  it("keeps state in memory where the state directory cannot be written, and says so", () => {
    write("file", "");
    const loaded = load({ XDG_STATE_HOME: join(directory, "file") });
    expect(configOf(loaded).store).toEqual({ kind: "memory" });
    expect(loaded.notes).toEqual([
      `${join(directory, "file/patchbay/patchbay.db")} is below a path that is not a directory; choose another path. Past answers are kept in memory until a restart; set \`store.path\` to a file, or set \`store: memory\`.`,
    ]);
  });

  it("doubts a store that cannot be written, and finds an address that is none", () => {
    write("file", "");
    write("patchbay.yaml", "store: { kind: sqlite, path: file/patchbay.db }\n");
    expect(load().doubts).toMatchObject([
      { path: "store.path", message: expect.stringContaining("is not a directory") },
    ]);
    write("patchbay.yaml", "store: { kind: postgres, url: localhost }\n");
    expect(linesOf(load())).toEqual([
      "patchbay.yaml:1:26 store.url: must be an address such as postgres://user:password@host:5432/database",
    ]);
    write("patchbay.yaml", "store: paper\n");
    expect(linesOf(load())).toEqual([
      "patchbay.yaml:1:1 store.kind: must be one of memory, sqlite, postgres, off",
    ]);
  });

  it("tells of a variable that is misspelt, unless the file has a use for it", () => {
    const env = { PATCHBAY_KEYS: "a", PATCHBAY_APIKEY: "b" };
    write("patchbay.yaml", "server: { keys: [${PATCHBAY_APIKEY}] }\n");
    expect(load(env).notes).toEqual([]);
    write("patchbay.yaml", "server: { keys: [c] }\n");
    expect(load(env).notes).toEqual([
      "PATCHBAY_APIKEY is set, but Patchbay does not read it; did you mean PATCHBAY_API_KEY?",
    ]);
  });

  it("takes the first file of the search order", () => {
    expect(load().file).toBeUndefined();
    mkdirSync(join(directory, "home", "patchbay"), { recursive: true });
    write("home/patchbay/patchbay.yaml", "server: { port: 1 }");
    expect(configOf(load()).server.port).toBe(1);
    write("patchbay.json", '{"server": {"port": 2}}');
    expect(configOf(load()).server.port).toBe(2);
    write("patchbay.yaml", "server: { port: 3 }");
    expect(configOf(load()).server.port).toBe(3);
    write("other.yaml", "server: { port: 4 }");
    expect(configOf(load({}, { file: "other.yaml" })).server.port).toBe(4);
  });

  it("says what is wrong with a file it cannot read", () => {
    expect(linesOf(load({}, { file: "gone.yaml" }))).toEqual([
      "gone.yaml: does not exist; check the path, or omit `--config`",
    ]);
    expect(linesOf(load({}, { file: "." }))[0]).toMatch(/is a directory; name the file in it$/);
  });

  it("finds no variable that nobody has set", () => {
    write(
      "patchbay.yaml",
      'server: { keys: ["${toString}", "${constructor}", "${__proto__:-x}"] }\n',
    );
    expect(linesOf(load())).toEqual([
      expect.stringContaining("`toString` is not set"),
      expect.stringContaining("`constructor` is not set"),
    ]);
    write("patchbay.yaml", 'server: { keys: ["${__proto__:-x}"] }\n');
    expect(configOf(load()).server.keys).toEqual(["x"]);
  });

  it("does not read a file that no configuration is as long as", () => {
    write("long.yaml", "# a long tale\n".repeat(100_000));
    expect(linesOf(load({}, { file: "long.yaml" }))).toEqual([
      "long.yaml: is longer than 1000000 bytes; name the file that is the configuration",
    ]);
  });

  it("lays the environment over the file and the command line over both", () => {
    write("patchbay.yaml", "server: { port: 1, host: 127.0.0.1 }");
    expect(configOf(load({ PORT: "2" })).server.port).toBe(2);
    expect(configOf(load({ PORT: "2" }, { port: 3 })).server.port).toBe(3);
  });

  it("treats a section with nothing in it as left out", () => {
    write("patchbay.yaml", "server:\ntools:\n  # strict: true\n");
    expect(configOf(load()).tools.strict).toBe(false);
  });

  it("takes paths from where the file is", () => {
    mkdirSync(join(directory, "sub"));
    write("sub/demo.yaml", "turns: [{ steps: [{ text: Hello }] }]");
    write(
      "sub/p.yaml",
      "upstreams: { demo: { dialect: scripted, script: ./demo.yaml } }\nstore: { kind: sqlite }\n",
    );
    const config = configOf(load({}, { file: "sub/p.yaml" }));
    expect(config.upstreams["demo"]).toMatchObject({
      script: "turns: [{ steps: [{ text: Hello }] }]",
    });
    expect(config.store).toMatchObject({ path: join(directory, "sub/.patchbay/patchbay.db") });
    write("sub/p.yaml", "upstreams:\n  demo: { dialect: scripted, script: nope.yaml }");
    expect(linesOf(load({}, { file: "sub/p.yaml" }))[0]).toMatch(
      /^sub\/p\.yaml:2:30 upstreams\.demo\.script: there is no file .+nope\.yaml;/,
    );
  });

  it("tells what is wrong with a script in the script's own lines", () => {
    write("demo.yaml", "turns:\n  - stepz: []\n");
    const demo = "{ dialect: scripted, script: demo.yaml }";
    write("patchbay.yaml", `upstreams: { demo: ${demo}, again: ${demo} }\n`);
    expect(linesOf(load())).toEqual([
      "demo.yaml:2 turns[0].steps: is missing; it must be a list",
      "demo.yaml:2 turns[0].stepz: is not a known key; did you mean `steps`?",
    ]);
  });

  it("accepts the example of the manual", () => {
    write("demo.yaml", "turns: [{ steps: [{ text: Hello }] }]");
    write(
      "patchbay.yaml",
      `
server:
  host: 127.0.0.1
  port: 11435
  keys: [\${PATCHBAY_API_KEY:-}]
upstreams:
  deepseek:
    dialect: chat
    profile: deepseek
    base_url: https://api.deepseek.com/v1
    api_key: \${DEEPSEEK_API_KEY}
    capabilities:
      tools:
        kinds: { custom: degrade, web_search: ignore }
        max: 128
        names: { chars: "A-Za-z0-9_-", max: 64 }
        choice: [auto, none, required, function]
        parallel: true
        declares: turn
        deferred: false
        cached: true
  codex:
    dialect: codex
    command: codex
    home: ./.patchbay/codex
  demo:
    dialect: scripted
    script: ./demo.yaml
models:
  gpt-5.5: deepseek/deepseek-v4-pro
  cheap: [deepseek/deepseek-v4-flash, demo/demo]
  "*": deepseek/deepseek-v4-pro
tools:
  strict: false
  disclosure: auto
  output: openai-json
  block_max: 0
  block_dedup: false
  block_delimiter: ""
  stop_after: false
  stop_after_mode: burst
  stop_after_grace_ms: 300
  suppress_tail: false
  parallel: true
store: { kind: sqlite, path: ./.patchbay/patchbay.db }
`,
    );
    const { server, models } = configOf(load({ DEEPSEEK_API_KEY: "k" }));
    expect(server.keys).toEqual([]);
    expect(models["cheap"]).toEqual(["deepseek/deepseek-v4-flash", "demo/demo"]);
  });
});

describe("listening beyond this machine", () => {
  it("needs a key", () => {
    write("patchbay.yaml", "server:\n  host: 0.0.0.0\n");
    expect(linesOf(load())).toEqual([
      "patchbay.yaml:2:3 server.host: listening on 0.0.0.0 without a key would let every client that reaches it use your upstreams; set `server.keys` or PATCHBAY_API_KEY, or listen on 127.0.0.1",
    ]);
    expect(configOf(load({ PATCHBAY_API_KEY: "k" })).server.keys).toEqual(["k"]);
    write("patchbay.yaml", "server: { host: 0.0.0.0, keys: [{ name: ann, key: '${K:-}' }] }\n");
    expect(linesOf(load())[0]).toMatch(/listening on 0\.0\.0\.0 without a key/);
    expect(configOf(load({ K: "k" })).server.keys).toEqual([{ name: "ann", key: "k" }]);
    write("patchbay.yaml", "server:\n  host: 0.0.0.0\n  prot: 1\n");
    expect(linesOf(load())).toHaveLength(2);
  });

  it("says who asked for it", () => {
    expect(linesOf(load({ HOST: "::" }))[0]).toMatch(
      /^server\.host \(from HOST\): listening on ::/,
    );
    expect(linesOf(load({}, { host: "10.0.0.1" }))[0]).toMatch(/^server\.host \(from --host\)/);
    expect(linesOf(load({}, { host: "" }))).toEqual([
      "server.host (from --host): is empty; give it a value or leave the key out",
    ]);
  });

  it.each(["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"])(
    "is not what %s does",
    (host) => {
      expect(load({ HOST: host }).ok).toBe(true);
    },
  );
});

describe("the sources of keys", () => {
  const vertex = "dialect: messages, profile: anthropic-vertex, base_url: https://x.example/v1";
  const chat = "dialect: chat, base_url: https://x.example/v1";

  it("include the credentials that a profile names", () => {
    const file = join(directory, "key.json");
    write(
      "patchbay.yaml",
      [
        "upstreams:",
        `  vertex: { ${vertex} }`,
        `  keyed: { ${vertex}, api_key: mine }`,
        `  signed: { ${vertex}, headers: { authorization: mine } }`,
        `  open: { ${chat}, capabilities: { credentials: google } }`,
        `  plain: { ${chat} }`,
      ].join("\n"),
    );
    const loaded = load({ GOOGLE_APPLICATION_CREDENTIALS: file });
    expect(loaded.ok && loaded.keys).toEqual({ vertex: file, keyed: "the file", open: file });
  });

  it("say which credentials are missing", () => {
    write("patchbay.yaml", `upstreams: { vertex: { ${vertex} } }`);
    const loaded = load({ CLOUDSDK_CONFIG: directory });
    expect(loaded.ok && loaded.keys["vertex"]).toBe(
      `Google's metadata server (GOOGLE_APPLICATION_CREDENTIALS is not set, and ${directory}/application_default_credentials.json does not exist)`,
    );
  });
});
