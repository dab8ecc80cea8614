/** Which model `launch` and `smoke` ask, and what is said where it does not answer. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, frame, json, sse, type Answer } from "../support/fake-upstream.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** An agent that leaves a file where it was started. */
function agent(terminal: Terminal, name: string): () => boolean {
  const folder = join(terminal.home, "bin");
  const trace = join(terminal.home, `${name}-ran`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, name),
    `#!/bin/sh\ncase $1 in --version | debug) ;; *) touch '${trace}' ;; esac\n`,
    { mode: 0o755 },
  );
  return () => existsSync(trace);
}

const withAgents = (terminal: Terminal, env: Readonly<Record<string, string>> = {}) => ({
  PATH: `${join(terminal.home, "bin")}:${process.env["PATH"] ?? ""}`,
  ...env,
});

/** A server whose model list is open to all, and whose answers are these. */
async function server(models: readonly string[], answer?: Answer) {
  const fake = await fakeUpstream(({ path, body }) =>
    path.endsWith("/models")
      ? json({ data: models.map((id) => ({ id })) })
      : (answer ?? answerInChat(body, { text: "Hello." })),
  );
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

const refused = json({ error: { message: "Incorrect API key provided.", code: "bad" } }, 401);
const late = sse(frame({ error: { message: "No tokens left.", code: "insufficient_quota" } }));

describe.skipIf(process.platform === "win32")("the model of a launch", { timeout: 60_000 }, () => {
  it("is never the demo beside a model, for `launch` and for `smoke`", async () => {
    await using terminal = openTerminal();
    agent(terminal, "goose");
    const { url } = await server(["m"]);
    terminal.configure(
      `upstreams: { demo: { dialect: scripted }, it: { dialect: chat, base_url: "${url}" } }\nmodels: { demo: demo/demo }\n`,
    );
    const launched = await terminal.patchbayWith(withAgents(terminal), "launch", "goose");
    expect(launched.errors).toContain("goose on it/m through");
    const gateway = await terminal.open();
    const smoke = await terminal.patchbay("smoke", "--url", gateway.url, "--expect", "1");
    expect(smoke.out).toContain("model it/m: bursts");
  });

  it("is one that the agent was made for, by whichever name it has", async () => {
    await using terminal = openTerminal();
    agent(terminal, "codex");
    agent(terminal, "claude");
    const { url } = await server(["qwen3:8b"]);
    terminal.configure(
      [
        `upstreams: { it: { dialect: chat, base_url: "${url}" } }`,
        "models: { fast: it/a, claude-mine: it/b, gpt-mine: it/c }",
      ].join("\n"),
    );
    const chosen = async (name: string): Promise<string> =>
      (await terminal.patchbayWith(withAgents(terminal), "launch", name)).errors;
    expect(await chosen("codex")).toContain("Codex CLI on gpt-mine through");
    expect(await chosen("claude")).toContain("Claude Code on claude-mine through");
  });

  it.each([
    ["a refused key", refused, "rejected its key (401): Incorrect API key provided."],
    ["a used-up quota in a stream", late, "has no credit or quota left: No tokens left."],
  ])("is asked once before the agent is started: %s is told at once", async (_, answer, why) => {
    await using terminal = openTerminal();
    const wasRun = agent(terminal, "codex");
    const bad = await server(["gpt-5.5"], answer);
    const good = await server(["kimi-k3"]);
    const env = {
      OPENAI_API_KEY: "canary-key",
      OPENAI_BASE_URL: bad.url,
      MOONSHOT_API_KEY: "canary-other",
      MOONSHOT_BASE_URL: good.url,
    };
    const { code, out, errors } = await terminal.patchbayWith(
      withAgents(terminal, env),
      "launch",
      "codex",
    );
    expect([code, out, wasRun()]).toEqual([1, "", false]);
    expect(errors).toContain("(keys: openai from OPENAI_API_KEY, moonshot from MOONSHOT_API_KEY)");
    expect(errors).toContain("openai/gpt-5.5 cannot answer, so the agent was not started. ");
    expect(errors).toContain(why);
    expect(errors).toContain("To use another model: --model moonshot/kimi-k3");
    expect(bad.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });
});
