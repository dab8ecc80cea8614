import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import { readUsageQuery, usageBody } from "../../src/gateway/http/usage-report.ts";
import { usageEntry } from "../../src/gateway/run/record.ts";
import { logLevels } from "../../src/host/config/log-level.ts";
import { UsageSums } from "../../src/history/usage-sums.ts";
import { figuresOf } from "../../src/observe/figures.ts";
import type { ChildNotice, Happening } from "../../src/observe/happening.ts";
import { eventLines, usageLine } from "../../src/observe/lines.ts";
import { ask, doors } from "../support/client.ts";
import { serve } from "../support/serve.ts";
import { loggedFields, turnDone } from "../support/turn-done.ts";

const docs = join(import.meta.dirname, "../../docs");
const page = [
  "reference/headers",
  "reference/log-lines",
  "guides/teams-and-keys",
  "guides/watching",
]
  .map((name) => readFileSync(join(docs, `${name}.md`), "utf8"))
  .join("\n");
const alerts = readFileSync(join(docs, "operations/alerts.yaml"), "utf8");

/** The rows of all tables, by the code in their first cell. */
const rows = new Map(
  [...page.matchAll(/^\| `([^`]+)`.*\|$/gm)].map(([row, name = ""]) => [
    name,
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  ]),
);
const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
/** Everything the page shows as code. */
const codes = new Set(codesIn(page.replaceAll(/^```.*?^```/gms, "")));
const unsaid = (names: readonly string[]): string[] => names.filter((name) => !codes.has(name));

const config = parseConfig({});

const turn = turnDone({ outcome: "failed", fault: "upstream.cut" });
/** With every field that one may have. */
const child: Required<ChildNotice> = {
  type: "child",
  upstream: "codex",
  event: "gone",
  pid: 1,
  reason: "exit 1",
  bytes: 2,
  percent: 3,
};
const happenings: readonly Happening[] = [
  {
    type: "begun",
    requestId: "r",
    door: "chat",
    route: "/v1/chat/completions",
    model: "m",
    upstream: "u/m",
    tenant: "local",
    requestBytes: 9,
    toolBytes: 0,
    stream: true,
  },
  turn,
  {
    type: "round",
    requestId: "r",
    round: 1,
    upstream: "a/m",
    provider: "a",
    fault: "upstream.refused",
    usage: undefined,
    ms: 5,
  },
  {
    type: "fallback",
    requestId: "r",
    from: "a/m",
    to: "b/m",
    fault: "upstream.refused",
    reason: { code: "c" },
  },
  {
    type: "refusal",
    at: 0,
    requestId: "r",
    route: "/v1/x",
    status: 404,
    fault: "request.route",
    param: "p",
  },
  { type: "trouble", requestId: "r", error: "TypeError", frames: [] },
  { type: "reload", ok: true, problems: [] },
  { type: "blocked", work: "answer", requestId: "r", ms: 120 },
  {
    type: "store",
    event: "lost",
    requestId: "r",
    fault: "store.full",
    problem: "The disk is full.",
  },
  { type: "unwritable", setting: "telemetry.usage_log", path: "/x", problem: "is full" },
  child,
];

describe("what operators read", () => {
  it("has every line of the log, and every field", () => {
    for (const { type, ...fields } of happenings) {
      // A turn's own are too many for a table.
      const names = type === "turn" ? [] : Object.keys(fields);
      expect(codesIn(rows.get(type)?.[2] ?? "no such row")).toEqual(expect.arrayContaining(names));
    }
    expect(unsaid(Object.keys(loggedFields(turn)))).toEqual([]);
    expect(unsaid(logLevels)).toEqual([]);
  });

  it("has every field of the usage log and the event log", () => {
    expect(unsaid(Object.keys(usageLine(turn)))).toEqual([]);
    const lines = [...happenings, turnDone({ stream: false })].flatMap((one) => eventLines(one, 0));
    expect(lines.length).toBeGreaterThan(5);
    expect(unsaid(lines.flatMap((line) => Object.keys(line)))).toEqual([]);
    for (const { phase, kind } of lines) expect(unsaid([String(phase), String(kind)])).toEqual([]);
  });

  it("has every count of /v1/usage", () => {
    const store = new UsageSums();
    store.add("", turn.at, usageEntry(turn, config));
    const query = readUsageQuery("group=day", turn.at);
    const body = usageBody(store.read("", query.start, query.end), query);
    const keys = Object.keys(body);
    expect(keys.filter((key) => !page.includes(`"${key}":`))).toEqual([]);
    expect(unsaid(["start", "end", "group", "model"])).toEqual([]);
  });

  it("has every header that an answer of ours has", async () => {
    await using served = await serve({});
    const tool = { name: "look", parameters: { type: "object", properties: {} } };
    const tools = {
      chat: [{ type: "function", function: tool }],
      responses: [{ type: "function", ...tool }],
    };
    for (const door of doors)
      for (const stream of [true, false]) {
        const response = await ask(served, door, { stream, tools: tools[door] });
        await response.text();
        const own = [...response.headers.keys()].filter((name) => /^x-(?!accel)/.test(name));
        expect(own.length).toBeGreaterThan(2);
        expect(own.filter((name) => !rows.has(name))).toEqual([]);
      }
  });

  it("has every attribute of a span", () => {
    const spans = readFileSync(join(import.meta.dirname, "../../src/observe/spans.ts"), "utf8");
    const attributes = [...spans.matchAll(/^ +"([a-z_]+\.[\w.]+)":/gm)].map(
      ([, name = ""]) => name,
    );
    expect(attributes.length).toBeGreaterThan(10);
    expect(unsaid(attributes)).toEqual([]);
    expect(unsaid(Object.keys(figuresOf(turn)).map((name) => `patchbay.${name}`))).toEqual([]);
  });

  it("has every alert", () => {
    const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect([...rows.keys()].filter((name) => /^Patchbay[A-Z]/.test(name))).toEqual(names);
  });
});
