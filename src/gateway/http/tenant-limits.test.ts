import { describe, expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import type { Fault } from "../../turn/fault.ts";
import { tenantLimitsSchema, type LimitsConfig } from "../config.ts";
import { TenantLimits } from "./tenant-limits.ts";

const open = (
  config: unknown,
  shared?: ConstructorParameters<typeof TenantLimits>[0]["shared"],
) => {
  const clock = stillClock(1_000_000);
  const parsed: LimitsConfig = tenantLimitsSchema.parse(config);
  const limits = new TenantLimits({ config: parsed, clock, shared });
  return {
    clock,
    limits: {
      enter: (tenant: string, bytes: number, input = 0) => limits.enter(tenant, bytes, () => input),
    },
  };
};

function refusal(enter: () => unknown): Fault {
  try {
    enter();
  } catch (error) {
    return error as Fault;
  }
  throw new Error("it was let in");
}

describe("a tenant", () => {
  it("has no limits where none are set", () => {
    expect(open({}).limits.enter("ann", 1e9)).toBeUndefined();
  });

  it("sends so many requests a minute, and more as time goes by", () => {
    const { limits, clock } = open({ default: { requests_per_minute: 2 } });
    limits.enter("ann", 1);
    limits.enter("ann", 1);
    const fault = refusal(() => limits.enter("ann", 1));
    expect(fault).toMatchObject({ code: "limit.requests", status: 429, mayRetry: true });
    expect(fault.detail.retryAfter).toBe("30");
    expect(fault.detail.rateLimits?.requests).toEqual({ limit: 2, remaining: 0, resetMs: 60_000 });
    expect(limits.enter("bob", 1)).toBeDefined();
    clock.move(30_000);
    expect(limits.enter("ann", 1)).toBeDefined();
  });

  it("pays for its tokens when they are known, and is let in again once they are made up for", () => {
    const { limits, clock } = open({ default: { tokens_per_minute: 600 } });
    limits.enter("ann", 1)?.leave(900);
    const fault = refusal(() => limits.enter("ann", 1));
    expect([fault.code, fault.detail.retryAfter]).toEqual(["limit.tokens", "31"]);
    clock.move(31_000);
    expect(limits.enter("ann", 1)?.view().tokens).toMatchObject({ limit: 600, remaining: 10 });
  });

  it("pays for what it sends at once, and for what it is told while it is told", () => {
    const { limits, clock } = open({ default: { tokens_per_minute: 600 } });
    let used = 0;
    const first = limits.enter("ann", 1, 100);
    first?.follow(() => used);
    expect(first?.view().tokens?.remaining).toBe(500);
    used = 400;
    const second = limits.enter("ann", 1, 50);
    expect(second?.view().tokens?.remaining).toBe(150);
    used = 700;
    expect(refusal(() => limits.enter("ann", 1)).code).toBe("limit.tokens");
    first?.leave(300);
    expect(second?.view().tokens?.remaining).toBe(250);
    second?.leave(0);
    clock.move(60_000);
    expect(limits.enter("ann", 1)?.view().tokens?.remaining).toBe(600);
  });

  it("has so many turns and bytes under way at once", () => {
    const { limits } = open({
      default: { concurrent_turns: 1 },
      tenants: { bob: { bytes_in_flight: 10 } },
    });
    const permit = limits.enter("ann", 1);
    expect(refusal(() => limits.enter("ann", 1)).code).toBe("limit.turns");
    permit?.leave(0);
    permit?.leave(0);
    limits.enter("ann", 1);
    expect(refusal(() => limits.enter("ann", 1)).code).toBe("limit.turns");
    const large = limits.enter("bob", 9);
    expect(refusal(() => limits.enter("bob", 2)).code).toBe("limit.bytes");
    large?.leave(0);
    expect(limits.enter("bob", 10)).toBeDefined();
  });

  it("is counted with what it sends to other replicas", async () => {
    const told: number[] = [];
    const shared = {
      spend: (spent: readonly { amount: number }[]) => {
        told.push(...spent.map(({ amount }) => amount));
        return Promise.resolve(spent.map(() => 0));
      },
      close: () => Promise.resolve(),
    };
    const { limits, clock } = open({ default: { requests_per_minute: 60 } }, shared);
    limits.enter("ann", 1);
    limits.enter("ann", 1);
    clock.move(1000);
    await Promise.resolve();
    await Promise.resolve();
    expect(told).toEqual([2]);
    expect(refusal(() => limits.enter("ann", 1)).code).toBe("limit.requests");
  });
});
