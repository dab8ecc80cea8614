/** What a new user sees whose shell has the keys of three providers: scripted servers stand in their place. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { answerInMessages } from "../support/fake-messages.ts";
import { answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import {
  fakeUpstream,
  json,
  type Answer,
  type Body,
  type FakeUpstream,
} from "../support/fake-upstream.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const VALUES = {
  OPENAI_API_KEY: "canary-openai-key",
  ANTHROPIC_API_KEY: "canary-anthropic-key",
  GEMINI_API_KEY: "canary-gemini-key",
};
const SOURCES =
  "openai from OPENAI_API_KEY, anthropic from ANTHROPIC_API_KEY, gemini from GEMINI_API_KEY";

/** The cities that a request asks about. */
const citiesIn = (body: Body): string[] =>
  ["Paris", "Zürich"].filter((city) =>
    JSON.stringify(body["messages"] ?? body["input"]).includes(city),
  );

const answerTo = (body: Body): FakeAnswer =>
  body["tools"] === undefined
    ? { text: "Hello." }
    : {
        calls: citiesIn(body).map((city, at) => ({
          id: `call_${at}`,
          name: "get_weather",
          arguments: JSON.stringify({ city }),
        })),
      };

type Speaking = (asked: Body, say: FakeAnswer) => Answer;

/** A provider that lists its models in no good order, takes one key, and answers in its dialect. */
const provider = (models: readonly string[], key: string, speak: Speaking): Promise<FakeUpstream> =>
  fakeUpstream(({ path, headers, body }) => {
    const given = String(headers["x-api-key"] ?? headers.authorization).replace("Bearer ", "");
    if (given !== key) return json({ error: { message: "wrong key" } }, 401);
    if (path.endsWith("/models")) return json({ data: models.map((id) => ({ id })) });
    if ((body["messages"] ?? body["input"]) === undefined)
      return json({ error: { message: "no messages" } }, 400);
    return speak(body, answerTo(body));
  });

let servers: Record<"openai" | "anthropic" | "gemini", FakeUpstream>;
let env: Record<string, string>;
let terminal: Terminal;

beforeAll(async () => {
  servers = {
    openai: await provider(
      ["text-embedding-3-small", "gpt-4o-mini", "gpt-5.5"],
      VALUES.OPENAI_API_KEY,
      answerInResponses,
    ),
    anthropic: await provider(
      ["claude-opus-5-5", "claude-sonnet-5"],
      VALUES.ANTHROPIC_API_KEY,
      answerInMessages,
    ),
    gemini: await provider(
      ["models/embedding-001", "models/gemini-flash-latest"],
      VALUES.GEMINI_API_KEY,
      (asked, say) => answerInChat(asked, say),
    ),
  };
  terminal = openTerminal();
  const bin = join(terminal.home, "bin");
  mkdirSync(bin);
  const agent = `#!${process.execPath}\nconsole.log(process.argv.slice(2).join(" "));\n`;
  for (const name of ["codex", "claude"]) writeFileSync(join(bin, name), agent, { mode: 0o755 });
  const origin = ({ url }: FakeUpstream): string => new URL(url).origin;
  env = {
    ...VALUES,
    OPENAI_BASE_URL: origin(servers.openai),
    ANTHROPIC_BASE_URL: origin(servers.anthropic),
    GEMINI_BASE_URL: origin(servers.gemini),
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    PORT: "0",
  };
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
});

/** Runs a command, none of which may show a key. An agent writes to the output of a real process. */
async function run(...args: string[]) {
  const { code, out, errors } = await (args[0] === "launch"
    ? terminal.spawned(args, env)
    : terminal.patchbayWith(env, ...args));
  const said = `${out}\n${errors}`;
  expect(said).not.toContain("canary");
  return { code, out, errors, said };
}

/** Which models each server was asked for since. */
function asked(): () => Record<string, string[]> {
  const before = new Map(Object.values(servers).map((one) => [one, one.requests.length]));
  return () =>
    Object.fromEntries(
      Object.entries(servers).flatMap(([name, one]) => {
        const models = one.requests
          .slice(before.get(one))
          .flatMap(({ body }) => body["model"] ?? []);
        return models.length === 0 ? [] : [[name, [...new Set<string>(models)]]];
      }),
    );
}

const plan = async (model: string): Promise<string> => {
  const file = terminal.write(
    "request.json",
    JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  );
  const { said } = await run("plan", file);
  return said;
};

describe.skipIf(process.platform === "win32")(
  "with the keys of three providers and nothing else",
  { timeout: 120_000 },
  () => {
    it("`patchbay` names the keys and what to do next", async () => {
      const { said } = await run();
      expect(said).toContain("OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY");
    });

    it("`check` says that there is no file, and where each key is from", async () => {
      const { code, said } = await run("check");
      expect(code).toBe(0);
      expect(said).toContain("Configuration from the environment");
      for (const [name, { url }] of Object.entries(servers))
        expect(said).toMatch(
          new RegExp(`${name} .*${new URL(url).origin}/v1\\S* +${name.toUpperCase()}_API_KEY`),
        );
      expect(said).not.toContain("demo");
    });

    it("`doctor` tries each key at its own provider", async () => {
      const { code, said } = await run("doctor");
      expect(said).toContain(
        `no file: the keys in the environment are the configuration (${SOURCES})`,
      );
      for (const name of Object.keys(servers)) expect(said).toContain(`${name}: accepts its key`);
      expect(said).not.toContain("demo");
      expect(code).toBe(0);
    });

    it("`plan` sends a name to the provider that has such models, and says by which key", async () => {
      for (const [model, place] of [
        ["claude-opus-5-5", "anthropic/claude-opus-5-5"],
        ["gpt-5.5", "openai/gpt-5.5"],
        ["o3", "openai/o3"],
        ["gemini-flash-latest", "gemini/gemini-flash-latest"],
      ] as const) {
        const said = await plan(model);
        expect(said).toContain(`${model} -> ${place} `);
        expect(said).toContain(`Configuration: no file (keys: ${SOURCES})`);
      }
      expect(await plan("llama4")).toContain("There is no model `llama4` here.");
    });

    it.each([
      ["codex", "Codex CLI", "openai", "gpt-5.5", 'model="openai/gpt-5.5"'],
      [
        "claude",
        "Claude Code",
        "anthropic",
        "claude-sonnet-5",
        "--model anthropic/claude-sonnet-5",
      ],
    ])(
      "`launch %s` runs %s on a model of its own provider",
      async (name, title, upstream, model, args) => {
        const since = asked();
        const { code, out, errors } = await run("launch", name);
        expect(errors).toContain(`Configuration: no file (keys: ${SOURCES})\n`);
        expect(errors).toContain(`${title} on ${upstream}/${model} through http://127.0.0.1:`);
        expect(out).toContain(args);
        expect(since()).toEqual({ [upstream]: [model] });
        expect(code).toBe(0);
      },
    );

    it("`serve` and `smoke` say the same, and ask the model that a list would not have put first", async () => {
      const child = terminal.start(["serve"], env);
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async (): Promise<string> => String((await lines.next()).value);
      const first = await next();
      const [url = ""] = /http:\/\/[\d.:]+/.exec(first) ?? [];
      expect(first).toBe(`Patchbay listens on ${url} (upstreams: openai, anthropic, gemini)`);
      expect(await next()).toBe(`Configuration: no file (keys: ${SOURCES})`);
      const since = asked();
      const smoke = await run("smoke", "--url", url);
      expect(smoke.said).toContain("model openai/gpt-5.5: bursts of 2 or more calls");
      expect(smoke.said).toContain(`Configuration: no file (keys: ${SOURCES})`);
      expect(smoke.said).toContain("16 of 16 answers are correct.");
      expect(since()).toEqual({ openai: ["gpt-5.5"] });
      const status = await run("status");
      expect(status.said).toContain(`configuration  no file (keys: ${SOURCES})`);
      child.kill();
    });

    it("`init` writes the same into a file, which commands then name", async () => {
      const init = await run("init", "--yes");
      const file = join(terminal.home, "work", "patchbay.yaml");
      expect(init.said).toContain(`${file} was written.`);
      const text = readFileSync(file, "utf8");
      for (const [name, { url }] of Object.entries(servers)) {
        expect(text).toContain(`api_key: \${${name.toUpperCase()}_API_KEY}`);
        expect(text).toContain(`base_url: ${new URL(url).origin}/v1`);
      }
      expect(text).not.toMatch(/demo|canary/);
      const check = await run("check");
      expect([check.code, check.said]).toEqual([
        0,
        expect.stringContaining(`${file}: no problems.`),
      ]);
      expect(check.said).toMatch(/anthropic +messages +\S+ +ANTHROPIC_API_KEY/);
      const since = asked();
      const launch = await run("launch", "claude");
      expect(launch.errors).toContain(`Configuration: ${file} (keys: ${SOURCES})\n`);
      expect(since()).toEqual({ anthropic: ["claude-sonnet-5"] });
    });
  },
);
