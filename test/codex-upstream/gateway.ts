import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { existsSync } from "node:fs";
import OpenAI from "openai";
import { afterAll } from "vitest";
import {
  fakeUpstream,
  json,
  type Body,
  type FakeUpstream,
  type Model,
} from "../support/fake-upstream.ts";
import type { ConfigInput } from "../../src/gateway/config.ts";
import type { Clock } from "../../src/turn/clock.ts";
import { serve, type Served } from "../support/serve.ts";

export const command = fileURLToPath(new URL("../../node_modules/.bin/codex", import.meta.url));
export const missing = !existsSync(command);
if (missing)
  process.stderr.write("codex app-server is not judged: @openai/codex is not installed\n");

export type CodexGateway = AsyncDisposable & {
  readonly served: Served;
  /** What stands behind Codex. */
  readonly model: FakeUpstream;
  readonly client: OpenAI;
};

/** A gateway before the real app-server, and behind that a model of our own. */
export async function openCodex(
  behind: Model,
  more: Readonly<Record<string, unknown>> = {},
  server: ConfigInput["server"] = {},
  clock?: Clock,
): Promise<CodexGateway> {
  const home = await mkdtemp(join(tmpdir(), "patchbay-codex-home-"));
  const model = await fakeUpstream(behind);
  const served = await serve(
    {
      upstreams: {
        codex: {
          dialect: "codex",
          command,
          home,
          base_url: model.url,
          api_key: "sk-behind",
          ...more,
        },
      },
      models: { "*": "codex/*" },
      server,
    },
    { HOME: home },
    clock,
  );
  return {
    served,
    model,
    client: new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "unused", maxRetries: 0 }),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * One gateway before one real app-server for all tests of a file. Call the function that it
 * returns with a model: that model answers from then on, and `model.requests` begins anew.
 */
export function sharedCodex(
  ...settings: Parameters<typeof openCodex> extends [Model, ...infer More] ? More : never
): (behind: Model) => Promise<CodexGateway> {
  let opened: Promise<CodexGateway> | undefined;
  let current: Model = () => json({});
  let earlier = 0;
  afterAll(async () => (await opened)?.[Symbol.asyncDispose]());
  return async (behind) => {
    opened ??= openCodex((request, at) => current(request, at - earlier), ...settings);
    const gateway = await opened;
    const begun = gateway.model.requests.length;
    current = behind;
    earlier = begun;
    return {
      ...gateway,
      model: {
        ...gateway.model,
        get requests() {
          return gateway.model.requests.slice(begun);
        },
      },
    };
  };
}

/** Runs the stand-in as the real one is run; `before` are shell commands that run first. */
export async function standIn(version = "0.166.0", before = ""): Promise<string> {
  // The folder of the run is removed at its end.
  const folder = await mkdtemp(join(process.env["XDG_STATE_HOME"] ?? tmpdir(), "stand-in-"));
  const script = fileURLToPath(new URL("./stand-in.ts", import.meta.url));
  const file = join(folder, "codex");
  const lines = ["#!/bin/sh", before, `exec "${process.execPath}" "${script}" ${version}`, ""];
  await writeFile(file, lines.join("\n"), { mode: 0o755 });
  return file;
}

/** The process that serves the gateway, once it has started. */
export function pidOf({ served }: Pick<CodexGateway, "served">): number {
  const started = served.happenings.findLast(
    (one) => one.type === "child" && one.event === "started",
  );
  return started?.type === "child" ? (started.pid ?? 0) : 0;
}

export type Asked = { readonly status: number; readonly text: string; readonly body: Body };

/** Asks over the chat door. */
export async function ask(
  gateway: CodexGateway,
  more: Body = {},
  signal?: AbortSignal,
): Promise<Asked> {
  const response = await fetch(`${gateway.served.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...more }),
    signal: signal ?? null,
  });
  const text = await response.text();
  const whole = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, text, body: whole ? (JSON.parse(text) as Body) : {} };
}

/** How often something happened to the processes of a gateway. */
export const childEvents = ({ served }: CodexGateway, event: string): number =>
  served.happenings.filter((one) => one.type === "child" && one.event === event).length;
