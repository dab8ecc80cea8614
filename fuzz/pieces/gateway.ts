/** Sends one request to a new gateway process, and measures how long its event loop was held. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../bench/processes.ts";
import { profiles } from "../../src/profiles/profiles.ts";
import { loopback, type Loopback } from "../../test/support/loopback.ts";
import { answerIn } from "../examples.ts";

/** The longest time in which the event loop did no other work: by the clock, and as CPU time. */
export type Held = { readonly wallMs: number; readonly cpuMs: number };
type Outcome = Held & { readonly status: number; readonly answer: string };

const root = join(import.meta.dirname, "../..");

/** An upstream of one dialect; it gives the same short answer to every request. */
const openUpstream = (dialect: string): Promise<Loopback> =>
  loopback((request, response) => {
    request.resume();
    request.on("error", () => {});
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(answerIn(dialect, { text: "hi" }).join(""));
    });
  });

/** An upstream of each profile, by the profile's name. */
export const profileNames = [
  "demo",
  "generic-chat",
  "openai",
  "gemini",
  "gemini-chat",
  "openai-responses",
  "anthropic",
] as const;

const dialectOf = (profile: string): string => profiles.get(profile)?.dialect ?? "chat";

export type Rig = AsyncDisposable & {
  readonly ask: (
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Outcome>;
};

export async function openRig(profile: string): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-pieces-"));
  const upstream = await openUpstream(dialectOf(profile));
  const base_url = `${upstream.url}/v1`;
  const config = join(folder, "patchbay.json");
  const one =
    profile === "demo"
      ? { dialect: "scripted" }
      : { dialect: dialectOf(profile), profile, base_url, retries: 0, api_key: "k" };
  writeFileSync(
    config,
    JSON.stringify({
      upstreams: { u: one },
      models: { "*": "u/m" },
      store: { kind: "sqlite", path: join(folder, "store.db") },
    }),
  );
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      "--max-semi-space-size=8",
      "--import",
      join(root, "fuzz/pieces/loop-watch.ts"),
      join(root, "cli/cli.ts"),
      "serve",
      "--config",
      config,
      "--port",
      String(port),
      "--log-level",
      "silent",
    ],
    {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: { ...process.env, PATCHBAY_RUNTIME_DIR: folder, XDG_STATE_HOME: folder },
    },
  );
  const url = `http://127.0.0.1:${port}`;
  await up(url);
  return {
    async ask(path, body, headers = {}) {
      await heard(child, "begin");
      const response = await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
      const answer = await response.text();
      // Storing the answer holds the loop as well.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { ...(await heard(child, "end")), status: response.status, answer };
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      if (child.exitCode === null) await once(child, "exit");
      await upstream[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function heard(child: ChildProcess, word: string): Promise<Held> {
  const said = once(child, "message");
  child.send(word);
  const [held] = (await said) as [Held];
  return held;
}

async function up(url: string): Promise<void> {
  for (let tried = 0; tried < 600; tried++) {
    const health = await fetch(`${url}/healthz`).catch(() => undefined);
    if (health?.ok === true) return void (await health.text());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the gateway did not start");
}
