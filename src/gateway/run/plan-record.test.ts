import { expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { CallRules } from "../../turn/rules.ts";
import { keptPlan, planBytes, type PlanRecord } from "./plan-record.ts";
import type { Round } from "./round.ts";
import { linkOf } from "./select.ts";

const plan = (over: Partial<PlanRecord>): PlanRecord =>
  ({ tools: [], parameters: [], rules: [], decisions: [], ...over }) as unknown as PlanRecord;
const long = "x".repeat(1_000_000);

it("weighs whatever a client may make long", () => {
  const tool = { path: "tools[0]", kind: "function", name: "f", reason: "" };
  const heavy = [
    plan({ tools: [{ ...tool, kind: long }] as unknown as PlanRecord["tools"] }),
    plan({ tools: [{ ...tool, name: long }] as unknown as PlanRecord["tools"] }),
    plan({ tools: [{ ...tool, namespace: long }] as unknown as PlanRecord["tools"] }),
    plan({ parameters: [{ path: long, target: undefined }] }),
    plan({ decisions: [{ path: long, action: "dropped", reason: "" }] }),
    plan({ decisions: [{ path: "", action: "dropped", reason: long }] }),
  ];
  for (const one of heavy) expect(planBytes(one)).toBeGreaterThanOrEqual(2_000_000);
  expect(planBytes(plan({}))).toBeLessThan(1000);
});

const profile = { name: "openai", params: {} } as unknown as Round["profile"];
const upstream = { name: "up", profile } as unknown as Round["link"]["upstream"];
const rules = { parallel: true, max: 0 } as unknown as CallRules;
const verdicts = [{ path: "tools[0]", kind: "function", name: "f", verdict: "native", reason: "" }];
const round = (over: Partial<Round> = {}, model = "m"): Round =>
  ({
    link: linkOf(upstream, model),
    profile,
    straight: false,
    shaped: true,
    decisions: [],
    plan: { verdicts, turn: { params: {} }, asked: { tools: [] } },
    ...over,
  }) as unknown as Round;
const decided = (reason: string): Decision => ({ path: "seed", action: "dropped", reason });

it("keeps one plan for all turns that have the same", () => {
  const first = keptPlan(round(), { rules });
  expect(keptPlan(round(), { rules })).toBe(first);
  const others = [
    keptPlan(round({}, "other"), { rules }),
    keptPlan(round({ straight: true }), { rules }),
    keptPlan(round({ decisions: [decided("no such field")] }), { rules }),
    keptPlan(round({ decisions: [decided("another reason")] }), { rules }),
    keptPlan(round(), { rules, repairs: [decided("")] }),
    keptPlan(round(), { rules: { ...rules, max: 2 } }),
  ];
  expect(new Set([first, ...others]).size).toBe(others.length + 1);
  expect(JSON.parse(others[2]?.json() ?? "")).toMatchObject({
    upstream: "up/m",
    lossy: true,
    decisions: [{ path: "seed", reason: "no such field" }],
    tools: [{ name: "f" }],
  });
});

it("remembers no more plans for the same tools than a few, and no heavy one", () => {
  const tools = round({ plan: { ...round().plan, verdicts: [...verdicts] } as Round["plan"] });
  const named = (model: string): Round => ({ ...tools, link: linkOf(upstream, model) });
  const first = keptPlan(named("0"), { rules });
  for (let at = 1; at < 8; at++) keptPlan(named(String(at)), { rules });
  expect(keptPlan(named("0"), { rules })).toBe(first);
  keptPlan(named("8"), { rules });
  expect(keptPlan(named("0"), { rules })).not.toBe(first);
  const heavy = round({ decisions: [decided(long)] });
  expect(keptPlan(heavy, { rules })).not.toBe(keptPlan(heavy, { rules }));
});
