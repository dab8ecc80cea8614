import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { ask, doors } from "../support/client.ts";
import { eventually, missing, prometheus, promtool } from "../support/prometheus.ts";
import { serve, type Served } from "../support/serve.ts";

const folder = join(import.meta.dirname, "../../docs/operations");
const rules = join(folder, "alerts.yaml");

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] };
const { panels } = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};
const drawn = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

/** The names of all that is counted. */
const counted = new Map(
  [...new Metrics().text().matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [
    name,
    type,
  ]),
);

/** What an expression asks for, without the words of the language and names recorded by a rule. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, "")
    .replaceAll(/\b(?:by|on|without)\s*\([^)]*\)/g, "")
    .replaceAll(/\b\w+(?::\w+)+\b/g, "");
  const words = bare.match(/\b[a-z_]\w*\b(?!\s*\()/gi) ?? [];
  return words.filter((word) => !["and", "or", "unless", "offset"].includes(word));
}

const exists = (metric: string): boolean => {
  const base = metric.replace(/_(?:bucket|sum|count)$/, "");
  return metric === "up" || counted.has(metric) || counted.get(base) === "histogram";
};

const weather = {
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const wanted = "What is the weather in Paris, in London and in Tokyo?";

/** Three calls through each door, in a stream and whole: twelve in four turns. */
async function burst(served: Served): Promise<void> {
  for (const stream of [true, false]) {
    const tools = [{ type: "function", function: weather }];
    const messages = [{ role: "user", content: wanted }];
    await (await ask(served, "chat", { stream, messages, tools })).text();
    const flat = [{ type: "function", ...weather }];
    await (await ask(served, "responses", { stream, input: wanted, tools: flat })).text();
  }
}

describe("the files for operators", () => {
  it.each(drawn)("a panel draws what is counted: $title", ({ expr }) => {
    const names = metricsIn(expr);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !exists(name))).toEqual([]);
  });

  it("alerts ask for what is counted", () => {
    const expressions = [
      ...readFileSync(rules, "utf8").matchAll(/^ +expr: (?:\|\n((?: {10,}.*\n)+)|(.+)\n)/gm),
    ];
    expect(expressions.length).toBeGreaterThan(8);
    for (const [, block, line] of expressions)
      expect(metricsIn(block ?? line ?? "").filter((name) => !exists(name))).toEqual([]);
  });

  it("knows a metric that is not counted", () => {
    const expression = 'sum by (le) (rate(nothing_total{a="b"}[5m])) or vector(0)';
    expect(metricsIn(expression)).toEqual(["nothing_total"]);
    expect(exists("nothing_total")).toBe(false);
  });
});

describe("with Prometheus itself", () => {
  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  it("promtool takes the alert rules, and their tests pass", () => {
    for (const words of [
      ["check", "rules", rules],
      ["test", "rules", join(import.meta.dirname, "alerts.yaml")],
    ]) {
      const { status, said } = promtool(words);
      expect({ status, said: status === 0 ? "" : said }).toEqual({ status: 0, said: "" });
    }
  });

  it("promtool has nothing against /metrics after traffic", async () => {
    await using served = await serve({});
    await burst(served);
    await (await fetch(`${served.url}/v1/nowhere`)).text();
    const text = await (await fetch(`${served.url}/metrics`)).text();
    expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
  });

  it("a server scrapes the counters, with and without a cap, loads the rules and draws every panel", async () => {
    await using served = await serve({});
    await using server = await prometheus(new URL(served.url).host, [rules]);
    const up = await eventually(
      () => server.query('up{job="patchbay"}'),
      ([one]) => one?.value === 1,
    );
    expect(up.map(({ value }) => value)).toEqual([1]);

    await burst(served);
    const calls = await eventually(
      () => server.query("sum by (door) (tool_call_count_total)"),
      (found) => found.length === 2 && found.every(({ value }) => value === 6),
    );
    expect(new Map(calls.map(({ labels, value }) => [labels.door, value]))).toEqual(
      new Map(doors.map((door) => [door, 6])),
    );
    for (const [expression, value] of [
      ['sum(patchbay_turns_total{upstream="demo",outcome="completed"})', 4],
      ["sum(tool_call_truncated_total)", 0],
      ['sum(patchbay_tool_calls_per_turn_bucket{le="2"})', 0],
      ['sum(patchbay_tool_calls_per_turn_bucket{le="4"})', 4],
      ['sum(patchbay_tools_total{verdict="native",kind="function"})', 4],
      ["patchbay_turns_running", 0],
    ] as const)
      expect(await server.query(expression), `the value of ${expression}`).toMatchObject([
        { value },
      ]);

    served.gateway.reconfigure(parseConfig({ tools: { block_max: 2 } }));
    await burst(served);
    const cut = await eventually(
      () => server.query("sum(tool_call_truncated_total)"),
      ([one]) => one?.value === 4,
    );
    expect(cut).toMatchObject([{ value: 4 }]);
    for (const [expression, value] of [
      ["sum(tool_call_count_total)", 20],
      ["sum(patchbay_tool_calls_withheld_total)", 4],
      ['sum(patchbay_tool_calls_per_turn_bucket{le="2"})', 4],
    ] as const)
      expect(await server.query(expression), `the value of ${expression}`).toMatchObject([
        { value },
      ]);

    const loaded = (await server.get("rules")) as { groups: { rules: { lastError?: string }[] }[] };
    expect(loaded.groups.flatMap((group) => group.rules).length).toBeGreaterThan(8);
    for (const { expr } of drawn) await server.query(asDrawn(expr));
  });
});

/** As Grafana sends it when all is chosen. */
const asDrawn = (expression: string): string =>
  expression.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:upstream|door)/g, ".*");
