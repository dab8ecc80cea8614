import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { missing as codexIsMissing, openCodex } from "../codex-upstream/gateway.ts";
import { fakeUpstream, type ReceivedRequest } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { claude, claudeFolder, missing, type ClaudeRun } from "./claude.ts";
import { signingGemini } from "../support/signing-gemini.ts";
import { isLoadedTool, models, prompt, sayParts, toolNamesIn } from "./model.ts";

type Backend = keyof typeof models | "gemini" | "codex";
const backends: readonly Backend[] = [
  "chat",
  "responses",
  "messages",
  "gemini",
  ...(codexIsMissing ? [] : (["codex"] as const)),
];

type Opened = AsyncDisposable & {
  readonly url: string;
  /** What the model was asked. */
  readonly requests: readonly ReceivedRequest[];
};

async function open(back: Backend): Promise<Opened> {
  if (back === "codex") {
    const { served, model, ...codex } = await openCodex(models.responses);
    return { url: served.url, requests: model.requests, ...codex };
  }
  // Gemini's refuses what its API refuses.
  const upstream =
    back === "gemini" ? (await signingGemini(sayParts)).upstream : await fakeUpstream(models[back]);
  const served = await serve(onto(back, upstream.url));
  return {
    url: served.url,
    requests: upstream.requests,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(missing).each(backends)("Claude Code on a %s upstream", (back) => {
  const folder = claudeFolder();
  let gateway: Opened;
  let run: ClaudeRun;

  beforeAll(async () => {
    gateway = await open(back);
    run = await claude(folder, gateway.url, prompt);
  });
  afterAll(async () => {
    folder[Symbol.dispose]();
    await gateway?.[Symbol.asyncDispose]();
  });

  const offered = (): string[][] =>
    gateway.requests
      .filter(({ text }) => text.includes(prompt))
      .map(({ body }) => toolNamesIn(body));

  it("comes to the end that the model comes to", () => {
    expect(run).toEqual({ code: 0, said: "Heard 2 of 2.", errors: "" });
  });

  it("runs two commands of one answer", () => {
    expect([folder.read("a.txt"), folder.read("b.txt")]).toEqual(["one", "two"]);
  });

  it("calls one of forty tools of an MCP server once its own search has loaded it", () => {
    expect(folder.read("write_7.txt")).toBe("seven");
    const isOffered = offered().map((names) => names.some(isLoadedTool));
    expect(isOffered.indexOf(true)).toBe(isOffered.lastIndexOf(false) + 1);
    expect([isOffered[0], isOffered.at(-1)]).toEqual([false, true]);
  });

  it("lets a subagent run a command", () => {
    expect(folder.read("errand.txt")).toBe("errand");
  });

  it("shows the model the picture that a tool has read", () => {
    expect(gateway.requests.at(-1)?.text).toMatch(/image\/png/);
  });

  it("is never offered the placeholder of deferred tools", () => {
    // A Messages upstream knows what `defer_loading` means.
    const names = back === "messages" ? [] : offered().flat();
    expect(names).not.toContain("DeferredToolPlaceholder");
  });
});

it.skipIf(missing)(
  "Claude Code writes a file with the demo, where nothing is configured",
  async () => {
    await using served = await serve({});
    using folder = claudeFolder();
    const run = await claude(folder, served.url, "Use Bash with command `printf hi > demo.txt`");
    expect(run.said).toContain("Bash (printf hi > demo.txt) says");
    expect(folder.read("demo.txt")).toBe("hi");
  },
);

it.skipIf(missing)(
  "Claude Code shows why at once, where strictness refuses its request",
  async () => {
    await using upstream = await fakeUpstream(models.chat);
    const config = onto("chat", upstream.url, { profile: "mistral" });
    await using served = await serve({ ...config, tools: { strict: true } });
    using folder = claudeFolder();
    const run = await claude(folder, served.url, "Hello");
    expect(run.said).toContain("Strictness is on");
    // A refusal that speaks of system messages is tried once more, others not at all; else it would be six times.
    expect(served.turns().length).toBeLessThanOrEqual(2);
    expect(upstream.requests).toEqual([]);
  },
);
