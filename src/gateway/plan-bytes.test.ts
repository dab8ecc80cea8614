import { expect, it } from "vitest";
import { planBytes, type PlanRecord } from "./plan-report.ts";

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
