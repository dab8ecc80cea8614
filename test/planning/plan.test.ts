import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGateway } from "../../src/index.ts";
import { runCommand, type CommandOutput } from "../support/command.ts";

const config = {
  upstreams: { up: { dialect: "chat", profile: "deepseek", base_url: "http://127.0.0.1:1/v1" } },
  models: { "*": "up/some-model" },
} as const;
const request = {
  model: "any",
  input: "Hello",
  truncation: "auto",
  temperature: 0.5,
  prompt_cache_key: "key",
  tools: [
    { type: "function", name: "files.read", parameters: { type: "object", properties: {} } },
    { type: "custom", name: "write" },
    { type: "web_search" },
  ],
};
const json = { "content-type": "application/json" };
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Request =>
  new Request(`http://gateway${path}`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
  });

describe("POST /v1/plan", () => {
  const gateway = createGateway(config);

  it("says what would become of every tool and parameter, and calls nobody", async () => {
    const response = await gateway.fetch(post("/v1/plan", request));
    expect(await response.json()).toMatchObject({
      object: "plan",
      upstream: "up/some-model",
      profile: "deepseek",
      straight: false,
      lossy: true,
      verdicts: { native: 1, degraded: 1, deferred: 0, ignored: 1, refused: 0 },
      tools: [
        { name: "files.read", verdict: "native", upstream_name: "files_read" },
        { name: "write", kind: "custom", verdict: "degraded", upstream_name: "write" },
        { kind: "web_search", verdict: "ignored", upstream_name: null },
      ],
      parameters: [
        { path: "truncation", verdict: "dropped", upstream_name: null },
        { path: "temperature", verdict: "native", upstream_name: "temperature" },
        { path: "prompt_cache_key", verdict: "unused" },
      ],
    });
  });

  it("takes a Chat body too", async () => {
    const body = { model: "any", messages: [{ role: "user", content: "Hello" }], temperature: 0 };
    const response = await gateway.fetch(post("/v1/plan", body));
    expect(await response.json()).toMatchObject({ straight: true, lossy: false, tools: [] });
  });

  it("does not call an answer forwarded that the house's rules for calls may change", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: {} } }];
    const body = { model: "any", messages: [{ role: "user", content: "Hello" }], tools };
    const planned = async (headers: Record<string, string>): Promise<unknown> =>
      (await gateway.fetch(post("/v1/plan", body, headers))).json();
    expect(await planned({})).toMatchObject({ straight: true });
    expect(await planned({ "x-proxy-output-mode": "obsidian" })).toMatchObject({ straight: false });
  });

  it("says which of the house's rules hold for the calls in the answer", async () => {
    const ruled = createGateway({
      ...config,
      tools: { parallel: false, block_max: 2, stop_after: true, stop_after_grace_ms: 200 },
    });
    const planned = async (body: object, headers = {}): Promise<unknown> =>
      (await ruled.fetch(post("/v1/plan", body, headers))).json();
    const rules = [
      {
        path: "tools.parallel",
        value: false,
        reason: "a choice delivers only its first call",
      },
      { path: "tools.block_max", value: 2, reason: "a choice delivers at most 2 calls" },
      {
        path: "tools.stop_after_mode",
        value: "burst",
        reason: "a choice is ended when no call has followed another for 200 ms",
      },
    ];
    expect(await planned(request)).toMatchObject({ rules });
    expect(await planned(request, { "x-proxy-output-mode": "obsidian" })).toMatchObject({
      rules: [
        ...rules,
        { path: "tools.output", value: "obsidian-xml" },
        { path: "tools.text_calls" },
      ],
    });
    // A model may call what nobody declared; only how many at once is then not asked of it.
    expect(await planned({ ...request, tools: [] })).toMatchObject({ rules: rules.slice(1) });
    expect(await (await gateway.fetch(post("/v1/plan", request))).json()).toMatchObject({
      rules: [],
    });
  });

  it("refuses under strictness, and names every loss", async () => {
    const response = await gateway.fetch(
      post("/v1/plan", request, { "x-patchbay-strict": "true" }),
    );
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe("plan.lossy");
    expect(error.message).toContain("`tools[2]` dropped");
    expect(error.message).toContain("`truncation` dropped");
    expect(error.message).not.toContain("prompt_cache_key");
  });

  it("counts encrypted reasoning as included, and nothing else that is asked for with it", async () => {
    const encrypted = "reasoning.encrypted_content";
    const refused = async (more: object): Promise<string> => {
      const body = { model: "any", input: "Hello", store: false, ...more };
      const asked = post("/v1/plan", body, { "x-patchbay-strict": "true" });
      return JSON.stringify(await (await gateway.fetch(asked)).json());
    };
    expect(await refused({ include: [encrypted] })).toContain('"lossy":false');
    expect(await refused({ include: [encrypted, "file_search_call.results"] })).toContain(
      "`include` dropped: the deepseek profile has no such parameter for file_search_call.results",
    );
  });

  it("says how an effort is told", async () => {
    const told = async (effort: string): Promise<unknown> => {
      const response = await gateway.fetch(post("/v1/plan", { ...request, reasoning: { effort } }));
      const { parameters } = (await response.json()) as { parameters: { path: string }[] };
      return parameters.find(({ path }) => path === "reasoning.effort");
    };
    expect(await told("low")).toMatchObject({ verdict: "native" });
    expect(await told("xhigh")).toEqual({
      path: "reasoning.effort",
      verdict: "changed",
      upstream_name: "reasoning_effort",
      reason: "the deepseek profile has nothing nearer than `high`",
    });
  });
});

describe("GET /v1/plans/:id", () => {
  const keys = ["first-key", "second-key"];
  const gateway = createGateway({
    server: { keys },
    upstreams: { demo: { dialect: "scripted" } },
    models: { "*": "demo/demo" },
  });
  const bearer = (key = ""): Record<string, string> => ({ authorization: `Bearer ${key}` });

  it("is the plan an answer was made under, for whoever asked", async () => {
    const answer = await gateway.fetch(post("/v1/responses", request, bearer(keys[0])));
    const { id } = (await answer.json()) as { id: string };
    const ask = (key = ""): Promise<Response> =>
      gateway.fetch(new Request(`http://gateway/v1/plans/${id}`, { headers: bearer(key) }));
    const plan = (await (await ask(keys[0])).json()) as { verdicts: Record<string, number> };
    expect(plan).toMatchObject({ id, object: "plan", upstream: "demo/demo" });
    const { native = 0, degraded = 0, deferred = 0, ignored = 0 } = plan.verdicts;
    expect(answer.headers.get("x-patchbay-plan")).toBe(
      `native=${native} degraded=${degraded} deferred=${deferred} ignored=${ignored}`,
    );
    expect((await ask(keys[1])).status).toBe(404);
  });

  it("is counted by verdict and kind, and odd kinds under one name", async () => {
    const tools = [...request.tools, { type: "somebodys_own_kind" }];
    await gateway.fetch(post("/v1/responses", { ...request, tools }, bearer(keys[0])));
    const metrics = await (await gateway.fetch(new Request("http://gateway/metrics"))).text();
    expect(metrics).toMatch(/^patchbay_tools_total\{verdict="native",kind="function"\} \d+$/m);
    expect(metrics).toMatch(/^patchbay_tools_total\{verdict="\w+",kind="other"\} 1$/m);
    expect(metrics).not.toContain("somebodys_own_kind");
  });

  it("is unknown for an answer that never was", async () => {
    const path = "http://gateway/v1/plans/resp_none";
    const response = await gateway.fetch(new Request(path, { headers: bearer(keys[0]) }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "plan.unknown" } });
  });
});

describe("patchbay plan", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "patchbay-plan-"));
    writeFileSync(join(folder, "request.json"), JSON.stringify(request));
    writeFileSync(join(folder, "patchbay.json"), JSON.stringify(config));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const plan = (...args: string[]): Promise<CommandOutput> =>
    runCommand(["plan", "--config", "patchbay.json", ...args], { directory: folder, env: {} });
  const run = (...args: string[]): Promise<CommandOutput> => plan("request.json", ...args);

  it("prints a table of tools and one of parameters", async () => {
    const { out } = await run("--model", "other");
    expect(out).toMatch(/^other -> up\/some-model \(profile deepseek\)\n/);
    expect(out).toMatch(/^ {2}tool +kind +verdict +upstream name +reason$/m);
    expect(out).toMatch(/^ {2}files\.read +function +native +files_read/m);
    expect(out).toMatch(/^ {2}truncation +dropped +-/m);
    expect(out).toMatch(/native=1 degraded=1 deferred=0 ignored=1 refused=0/);
  });

  it("shows the house's rules for calls that hold", async () => {
    const ruled = { ...config, tools: { block_max: 2 } };
    writeFileSync(join(folder, "ruled.json"), JSON.stringify(ruled));
    const { out } = await run("--config", "ruled.json");
    expect(out).toMatch(/^ {2}rule +value +reason\n {2}tools\.block_max +2 +\S/m);
  });

  it("shows every loss that strictness would name", async () => {
    const strict = { ...request.tools[0], strict: true };
    const asked = { ...request, truncation: undefined, tools: [strict] };
    writeFileSync(join(folder, "strict.json"), JSON.stringify(asked));
    const { out } = await plan("strict.json");
    expect(out).toMatch(
      /^ {2}files\.read +function +native +files_read +offered without `strict`$/m,
    );
    expect(out).toMatch(/^ {2}tools\[0\] +changed +the upstream does not support `strict`$/m);
    expect(out).toMatch(/; strictness would refuse this$/m);
  });

  it("prints JSON when asked, and refuses under strictness", async () => {
    const { out } = await run("--json");
    expect(JSON.parse(out)).toMatchObject({ object: "plan", lossy: true });
    expect(await run("--strict")).toMatchObject({
      code: 1,
      errors: expect.stringContaining("Strictness is on"),
    });
  });
});
