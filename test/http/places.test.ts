import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import type { ConfigInput } from "../../src/gateway/config.ts";
import { Fault } from "../../src/turn/fault.ts";
import { ask, readDoors } from "../support/client.ts";
import { received } from "../support/client-answer.ts";
import { type GiveToken, tokenServer } from "../support/google-tokens.ts";
import { loopback } from "../support/loopback.ts";
import { serve } from "../support/serve.ts";

type Broken = {
  readonly upstream: object;
  readonly environment?: Readonly<Record<string, string>>;
  /** Breaks it after the gateway has opened. */
  readonly spoil?: () => unknown;
  /** Names that only the operator may see. */
  readonly places: readonly string[];
};

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-places-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function vertex(give?: GiveToken) {
  const tokens = await tokenServer(give);
  const file = tokens.write(tokens.account);
  const environment = { ...tokens.base, [VARIABLE]: file };
  const upstream = {
    dialect: "gemini",
    profile: "vertex",
    base_url: "http://127.0.0.1:9",
    retries: 0,
  };
  return { ...tokens, file, environment, upstream };
}

const codex = (settings: object) => ({ dialect: "codex", processes: 1, ...settings });

const broken: Readonly<Record<string, () => Broken | Promise<Broken>>> = {
  async "whose file of credentials is broken"() {
    const { file, environment, upstream, write } = await vertex();
    return { upstream, environment, spoil: () => write("{"), places: [file] };
  },
  async "whose file of credentials is of an unknown kind"() {
    const { file, environment, upstream, write } = await vertex();
    const spoil = () => write({ type: "external_account" });
    return { upstream, environment, spoil, places: [file, "external_account"] };
  },
  async "whose credentials Google refuses"() {
    const error_description = "Account robot@project.iam.example not found.";
    const refusal = { error: "invalid_grant", error_description };
    const { file, environment, upstream, url } = await vertex(() => [400, refusal]);
    return { upstream, environment, places: [file, url, "robot@project.iam.example"] };
  },
  async "whose server of tokens cannot be reached"() {
    const { file, environment, upstream, url, close } = await vertex();
    return { upstream, environment, spoil: close, places: [file, url] };
  },
  async "without credentials"() {
    const { folder, base, upstream, host, close } = await vertex();
    const environment = { ...base, GCE_METADATA_HOST: host };
    return { upstream, environment, spoil: close, places: [folder, host] };
  },
  "that cannot be reached": () => {
    const base_url = "http://127.0.0.1:9/v1";
    return {
      upstream: { dialect: "chat", base_url, retries: 0 },
      places: ["http://127.0.0.1:9"],
    };
  },
  async "that does not speak HTTP"() {
    const server = await loopback(() => {});
    onTestFinished(() => server[Symbol.asyncDispose]());
    server.server.on("connection", (socket) => socket.end("220 ready\r\n"));
    const upstream = { dialect: "chat", base_url: server.url, retries: 0 };
    return { upstream, places: [server.url] };
  },
  "that needs a program that is missing": () => {
    const home = ownFolder();
    return {
      upstream: codex({ home, command: join(home, "bin", "codex") }),
      places: [join(home, "bin")],
    };
  },
  "whose folder belongs to another program": () => {
    const home = ownFolder();
    writeFileSync(join(home, "config.toml"), 'model = "mine"\n');
    return { upstream: codex({ home, command: process.execPath }), places: [home] };
  },
};

const found = (places: readonly string[], text: string): string[] =>
  places.filter((place) => text.includes(place));

describe.each(Object.entries(broken))("an upstream %s", (_, make) => {
  it("names it to the operator, and to no client", async () => {
    const { upstream, environment, spoil, places } = await make();
    const config = { upstreams: { up: upstream }, models: { "*": "up/m" } } as ConfigInput;
    await using served = await serve(config, environment);
    await spoil?.();
    for (const door of readDoors)
      for (const stream of [true, false]) {
        const { text } = await received(await ask(served, door, { stream }));
        expect(text).toMatch(/upstream|Codex|Google/);
        expect(found(places, text)).toEqual([]);
      }
    const turns = await (await served.fetch(`${served.url}/v1/turns`)).text();
    expect(turns).toContain("upstream.");
    expect(found(places, turns)).toEqual([]);
    const reported = JSON.stringify(served.happenings.filter(({ type }) => type === "turn"));
    expect(found(places, reported)).toEqual(places);
  });
});

it("a store that cannot be used names its file to the operator, and to no client", async () => {
  const path = join(ownFolder(), "store.db");
  const other = new DatabaseSync(path);
  other.exec("CREATE TABLE theirs (a)");
  other.close();
  await using served = await serve({ store: { kind: "sqlite", path } });
  const text = await (await served.fetch(`${served.url}/v1/responses/resp_1`)).text();
  expect(text).toContain("… is the database of another program");
  expect(found([path], text)).toEqual([]);
  expect(JSON.stringify(served.happenings)).toContain(path);
});

describe.each(builtinDialects.doors)("the writers of the $name dialect", ({ door }) => {
  const secret = "/srv/canary.json";
  const detail = { param: "x", internal: [secret, "http://10.0.0.7"] };
  const message = `The file ${secret} is too long for http://10.0.0.7.`;

  it.each(["upstream.auth", "upstream.refused", "request.invalid"] as const)(
    "leave out the internal parts of a fault: %s",
    (code) => {
      const fault = new Fault(code, message, detail);
      const tooLong = new Fault(code, message, {
        ...detail,
        upstreamCode: "context_length_exceeded",
      });
      let said = door.writeError(fault, "req_1") + door.writeError(tooLong, "req_1");
      const body = {
        model: "m",
        input: "Hi",
        messages: [{ role: "user", content: "Hi" }],
        contents: [{ parts: [{ text: "Hi" }] }],
      };
      const turn = door.readRequest({ ...body, stream: true });
      const context = { id: "x", created: 7, now: () => 7, newId: (prefix: string) => prefix };
      const writer = door.writeEvents(turn, context);
      for (const event of [{ type: "turn-start" }, { type: "turn-fail", fault }] as const)
        writer.each(event, (text) => (said += text));
      expect(said).toContain("The file … is too long for ….");
      expect(found(detail.internal, said)).toEqual([]);
    },
  );
});
