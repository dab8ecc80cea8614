/** What a client and an operator are told when an upstream fails: one row for each way in which it may. */

import { describe, expect, it, vi } from "vitest";
import { cut, fakeUpstream, json, sse, type Answer } from "../support/fake-upstream.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const KEY = "sk-canary-0123456789abcdef";
const PROMPT = "canary-prompt";

type Failing = {
  readonly name: string;
  readonly answer: Answer;
  /** What each of the four must say. */
  readonly cause: RegExp;
  /** The upstream's own words for it, in `logs --turn`, `status` and the log. */
  readonly words?: string;
};

const refuse = (status: number, error: object): Answer => json({ error }, status);
const page = { "content-type": "text/html" };

const failing: readonly Failing[] = [
  {
    name: "401",
    answer: refuse(401, {
      message: `Incorrect API key provided: ${KEY}.`,
      type: "invalid_request_error",
      code: "invalid_api_key",
    }),
    cause: /rejected its key \(401\): Incorrect API key provided: \[redacted\]/,
    words: "invalid_api_key, invalid_request_error",
  },
  {
    name: "402",
    answer: refuse(402, { message: "Insufficient Balance", type: "unknown_error" }),
    cause: /no credit or quota left \(402\): Insufficient Balance/,
    words: "unknown_error",
  },
  {
    name: "403",
    answer: refuse(403, {
      message: "Project does not have access to model m.",
      type: "invalid_request_error",
      code: "model_not_found",
    }),
    cause: /forbids this \(403\): Project does not have access to model m/,
    words: "model_not_found, invalid_request_error",
  },
  {
    name: "404",
    answer: refuse(404, {
      message: "The model m does not exist.",
      type: "invalid_request_error",
      code: "model_not_found",
    }),
    cause: /no such model or route \(404\): The model m does not exist/,
    words: "model_not_found, invalid_request_error",
  },
  {
    name: "429 rate",
    answer: refuse(429, {
      message: "Rate limit reached for m: 3 requests per minute.",
      type: "requests",
      code: "rate_limit_exceeded",
    }),
    cause: /asks to slow down \(429\): Rate limit reached for m/,
    words: "rate_limit_exceeded, requests",
  },
  {
    name: "429 quota",
    answer: refuse(429, {
      message: "You exceeded your current quota, please check your plan.",
      type: "insufficient_quota",
      code: "insufficient_quota",
    }),
    cause: /no credit or quota left \(429\): You exceeded your current quota/,
    words: "insufficient_quota",
  },
  {
    name: "500",
    answer: refuse(500, { message: "The server had an error.", type: "server_error" }),
    cause: /had an error \(500\): The server had an error/,
    words: "server_error",
  },
  {
    name: "HTML",
    answer: json("<!doctype html><title>Welcome to nginx!</title>", 200, page),
    cause: /answered with a web page/,
  },
  {
    name: "nothing",
    answer: sse(cut),
    cause: /it closed the connection before it answered/,
  },
];

const slug = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

const configFor = (origin: string): string =>
  [
    "telemetry: { recording: failures }",
    "recording: { folder: ./recordings }",
    "store: off",
    "upstreams:",
    ...failing.map(
      ({ name }) =>
        `  u${slug(name)}: { dialect: chat, base_url: "${origin}/${slug(name)}/v1", api_key: ${KEY}, retries: 0 }`,
    ),
  ].join("\n");

type Row = Readonly<Record<"name" | "client" | "logs" | "status" | "explain", string>>;

async function ask(url: string, name: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": `req-${slug(name)}` },
    body: JSON.stringify({
      model: `u${slug(name)}/m`,
      messages: [{ role: "user", content: PROMPT }],
    }),
  });
  return `HTTP ${response.status} ${await response.text()}`;
}

async function rowOf(
  terminal: Terminal,
  { name }: Failing,
  told: { readonly client: string; readonly status: string },
): Promise<Row> {
  const id = `req-${slug(name)}`;
  const logs = await terminal.patchbay("logs", "--turn", id);
  const explain = await terminal.patchbay("explain", id);
  expect([logs.code, logs.errors]).toEqual([1, ""]);
  const status = told.status.split("\n").filter((line) => line.includes(`u${slug(name)}/m`));
  return {
    name,
    client: told.client,
    logs: logs.out,
    status: status.join("\n"),
    explain: explain.out,
  };
}

describe.skipIf(process.platform === "win32")(
  "an upstream that fails",
  { timeout: 240_000 },
  () => {
    it("tells its client and its operator why, in each of nine ways", async () => {
      await using terminal = openTerminal();
      await using upstream = await fakeUpstream(({ path }) => {
        const found = failing.find(({ name }) => path.startsWith(`/${slug(name)}/`));
        return found === undefined || path.endsWith("/models") ? json({}, 404) : found.answer;
      });
      terminal.configure(configFor(new URL(upstream.url).origin));
      const gateway = await terminal.serve();
      const clients: string[] = [];
      for (const { name } of failing) clients.push(await ask(gateway.url, name));
      const { out: status } = await terminal.patchbay("status");
      const rows: Row[] = [];
      for (const [at, one] of failing.entries())
        rows.push(await rowOf(terminal, one, { client: clients[at] ?? "", status }));
      const printed = JSON.stringify(rows);
      for (const [at, { cause, words = "" }] of failing.entries()) {
        const { client, logs, status: line, explain } = rows[at] ?? {};
        for (const said of [client, logs, line, explain]) expect(said).toMatch(cause);
        for (const said of [logs, line]) expect(said).toContain(words);
      }
      expect(printed).not.toContain(KEY);
      // The log is written in batches.
      const reason = '"reason":{"code":"invalid_api_key","type":"invalid_request_error"}';
      await vi.waitFor(() => expect(gateway.errors()).toContain(reason));
      const log = gateway.errors();
      expect(log).not.toContain("Incorrect API key");
      expect(log + printed).not.toContain(PROMPT);
    });

    it("is quoted in the log only where `telemetry.upstream_messages` is set, and to an operator", async () => {
      await using terminal = openTerminal();
      await using upstream = await fakeUpstream(({ body }) =>
        refuse(400, { message: `Bad prompt ${KEY}: ${JSON.stringify(body)}`, code: "bad_prompt" }),
      );
      const config = (telemetry: string): string =>
        `telemetry: ${telemetry}\nstore: off\nupstreams: { u400: { dialect: chat, base_url: "${upstream.url}", api_key: ${KEY} } }`;
      terminal.configure(config("{ upstream_messages: false }"));
      const quiet = await terminal.serve();
      await ask(quiet.url, "400");
      const { out } = await terminal.patchbay("logs", "--turn", "req-400");
      expect(out).toContain(PROMPT);
      await quiet.stop();
      expect(quiet.errors()).toContain('"reason":{"code":"bad_prompt"}');
      expect(quiet.errors()).not.toContain(PROMPT);
      terminal.configure(config("{ upstream_messages: true }"));
      const telling = await terminal.serve();
      await ask(telling.url, "400");
      await telling.stop();
      expect(telling.errors()).toContain("rejected the request (400): Bad prompt [redacted]: {");
      expect(telling.errors()).toContain(PROMPT);
      expect(quiet.errors() + telling.errors() + out).not.toContain(KEY);
    });
  },
);
