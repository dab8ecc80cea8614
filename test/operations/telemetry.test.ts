import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { propagation, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createGateway,
  parseConfig,
  type ConfigInput,
  type Gateway,
  type Happening,
} from "../../src/index.ts";
import { chunk } from "../support/fake-model.ts";
import { done, fakeUpstream, sse, type Body } from "../support/fake-upstream.ts";
import { onto } from "../support/serve.ts";

let directory = "";
let happenings: Happening[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "patchbay-telemetry-"));
  happenings = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const log = (name: string): string => join(directory, `${name}.ndjson`);
const linesIn = (name: string): Body[] =>
  readFileSync(log(name), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Body);

const open = (config: ConfigInput): Gateway =>
  createGateway(
    { ...config, telemetry: { usage_log: log("usage"), event_log: log("events") } },
    { report: (happening) => void happenings.push(happening) },
  );

const burst = {
  calls: [1, 2, 3, 4].map((at) => ({ name: "look", arguments: { secret: `argument ${at}` } })),
};
const scripted: ConfigInput = {
  upstreams: {
    s: {
      dialect: "scripted",
      script: [
        { when: { user: "burst" }, steps: [burst, { usage: { input: 20, output: 8, cached: 3 } }] },
        { when: { user: "cut" }, steps: [{ text: "my secret answer" }, { cut: true }] },
        { when: { user: "hang" }, steps: [{ text: "my secret answer" }, { hang: true }] },
      ],
    },
  },
  models: { known: "s/scripted", "*": "s/scripted" },
};

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];

type Asking = { readonly key?: string; readonly model?: string; readonly stream?: boolean };

function request(words: string, { key = "", model = "known", stream = false }: Asking): Request {
  const messages = [{ role: "user", content: `my secret ${words}` }];
  return new Request("http://patchbay/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages, tools, stream }),
  });
}
const ask = async (gateway: Gateway, words: string, asking: Asking = {}): Promise<Response> => {
  const response = await gateway.fetch(request(words, asking));
  await response.text();
  return response;
};

async function usage(gateway: Gateway, query = "", key = ""): Promise<Body & { status: number }> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await gateway.fetch(
    new Request(`http://patchbay/v1/usage?${query}`, { headers }),
  );
  return { ...((await response.json()) as Body), status: response.status };
}

describe("what operators see of turns", () => {
  it("is one usage line for each, however it ended", async () => {
    const gateway = open(scripted);
    await ask(gateway, "burst");
    await ask(gateway, "burst", { stream: true });
    await ask(gateway, "cut");
    await ask(gateway, "cut", { stream: true });
    const leaving = (await gateway.fetch(request("hang", { stream: true }))).body?.getReader();
    await leaving?.read();
    await leaving?.cancel();
    await gateway.close(0);
    expect(
      linesIn("usage").map((line) => [line.outcome, line.stream, line.tool_call_count_total]),
    ).toEqual([
      ["completed", false, 4],
      ["completed", true, 4],
      ["failed", false, 0],
      ["failed", true, 0],
      ["left", true, 0],
    ]);
    expect(linesIn("usage").map((line) => line.counts_source)).toContain("event");
  });

  it("also tells of a turn that was refused once its upstream was known", async () => {
    const capabilities = { tools: { kinds: { function: "refuse" as const } } };
    const gateway = open({
      upstreams: { s: { dialect: "scripted", capabilities } },
      models: { known: "s/scripted" },
    });
    expect((await ask(gateway, "burst")).status).toBe(400);
    await gateway.close(0);
    expect(linesIn("usage").map((line) => [line.outcome, line.status_code])).toEqual([
      ["failed", 400],
    ]);
  });

  it("holds nothing of what was said", async () => {
    const gateway = open(scripted);
    for (const words of ["burst", "cut"]) await ask(gateway, words);
    const summed = await usage(gateway);
    await gateway.close(0);
    const told = JSON.stringify([linesIn("usage"), linesIn("events"), happenings, summed]);
    // The name of a tool that was called is told with the call, and nowhere else.
    expect(told.replaceAll('"name":"look"', "")).not.toMatch(/secret|look/);
  });

  it("adds up the same as the lines say", async () => {
    const gateway = open(scripted);
    for (const words of ["burst", "cut", "burst"]) await ask(gateway, words);
    const [summed, metrics] = [await usage(gateway), await metricsOf(gateway)];
    await gateway.close(0);
    const lines = linesIn("usage");
    const sum = (field: string): number =>
      lines.reduce((whole, line) => whole + Number(line[field] ?? 0), 0);
    for (const field of ["tool_call_count_total", "prompt_tokens", "total_tokens"])
      expect(summed[field]).toBe(sum(field));
    expect(summed.total_requests).toBe(lines.length);
    expect(metrics).toContain(`stop_after_tools_mode="burst"} ${sum("tool_call_count_total")}\n`);
  });
});

async function metricsOf(gateway: Gateway): Promise<string> {
  return (await gateway.fetch(new Request("http://patchbay/metrics"))).text();
}

describe("GET /v1/usage", () => {
  it("sums up a caller's own turns and nobody else's", async () => {
    const gateway = open({ ...scripted, server: { keys: ["ann", "bob"] } });
    await ask(gateway, "burst", { key: "ann" });
    await ask(gateway, "burst", { key: "ann", model: "whatever" });
    await ask(gateway, "cut", { key: "bob" });
    expect(await usage(gateway, "group=day", "ann")).toMatchObject({
      status: 200,
      object: "usage",
      group: "day",
      total_requests: 2,
      prompt_tokens: 40,
      completion_tokens: 16,
      total_tokens: 56,
      cached_tokens: 6,
      tool_call_count_total: 8,
      failed_requests: 0,
      models: { known: { total_requests: 1 }, "s/scripted": { total_requests: 1 } },
      buckets: [{ total_requests: 2, models: { known: { prompt_tokens: 20 } } }],
    });
    expect(await usage(gateway, "", "bob")).toMatchObject({
      total_requests: 1,
      failed_requests: 1,
    });
    expect(await usage(gateway, "", "eve")).toMatchObject({ status: 401 });
    await gateway.close(0);
  });

  it("says what is wrong with a query, and what to do", async () => {
    const gateway = open(scripted);
    expect(await usage(gateway, "group=week")).toMatchObject({
      status: 400,
      error: {
        code: "request.invalid",
        param: "group",
        message: "`group` must be `hour` or `day`.",
      },
    });
    await gateway.close(0);
  });

  it("survives a new configuration", async () => {
    const gateway = open(scripted);
    await ask(gateway, "burst");
    gateway.reconfigure(parseConfig(scripted));
    expect(await usage(gateway)).toMatchObject({ total_requests: 1 });
    await gateway.close(0);
  });
});

describe("a trace", () => {
  afterEach(() => {
    trace.disable();
    propagation.disable();
  });

  it("goes from the caller through the gateway to the upstream", async () => {
    const exporter = new InMemorySpanExporter();
    const processor = new SimpleSpanProcessor(exporter);
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const hello = chunk(0, { role: "assistant", content: "Hello" }, "stop");
    await using upstream = await fakeUpstream(() => sse(hello, done));
    const gateway = open(onto("chat", upstream.url));
    const asked = request("words", { model: "gpt", stream: true });
    asked.headers.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    await (await gateway.fetch(asked)).text();
    await gateway.close(0);
    const [round, span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span).toMatchObject({
      name: "chat gpt",
      parentSpanContext: { spanId: "b7ad6b7169203331" },
      attributes: { "gen_ai.response.finish_reasons": ["stop"], "patchbay.outcome": "completed" },
    });
    expect(upstream.requests[0]?.headers.traceparent).toBe(
      `00-0af7651916cd43dd8448eb211c80319c-${round?.spanContext().spanId}-01`,
    );
    expect(round?.parentSpanContext?.spanId).toBe(span?.spanContext().spanId);
  });
});
