import type { SharedLimits } from "../../store/store.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { RateLimits } from "../../turn/rate-limit.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { Bucket } from "./bucket.ts";
import type { Limits, LimitsConfig } from "./settings.ts";

/** A turn that was let in. */
export type TurnPermit = {
  /** What its tenant has left. */
  view(): RateLimits;
  /** The turn is over; so many tokens were used. */
  leave(tokens: number): void;
};

type Usage = {
  turns: number;
  bytes: number;
  readonly requests: Bucket | undefined;
  readonly tokens: Bucket | undefined;
  readonly limits: Limits;
};

export type TenantLimitsOptions = {
  readonly config: LimitsConfig;
  readonly clock: Clock;
  /** Where replicas keep their counts together. */
  readonly shared?: SharedLimits | undefined;
};

/** How often replicas tell each other what they have let in. */
const SHARE_MS = 1000;

/** Holds every tenant to its limits. Costs nothing where there are none. */
export class TenantLimits {
  readonly #options: TenantLimitsOptions;
  readonly #tenants = new Map<Tenant, Usage>();
  #isSharing = false;

  constructor(options: TenantLimitsOptions) {
    this.#options = options;
  }

  /** Lets a turn in; undefined where nothing is limited. Throws a Fault where it may not enter now. */
  enter(tenant: Tenant, bytes: number): TurnPermit | undefined {
    const limits = this.#limitsOf(tenant);
    if (Object.values(limits).every((limit) => limit === undefined)) return undefined;
    const usage = this.#usageOf(tenant, limits);
    this.#check(usage, bytes);
    const { clock } = this.#options;
    usage.turns++;
    usage.bytes += bytes;
    usage.requests?.spend(1, clock.now());
    this.#shareLater();
    let isOver = false;
    return {
      view: () => this.#view(usage),
      leave: (tokens) => {
        if (isOver) return;
        isOver = true;
        usage.turns--;
        usage.bytes -= bytes;
        usage.tokens?.spend(tokens, clock.now());
        this.#shareLater();
      },
    };
  }

  #limitsOf(tenant: Tenant): Limits {
    const { config } = this.#options;
    return Object.hasOwn(config.tenants, tenant)
      ? (config.tenants[tenant] ?? config.default)
      : config.default;
  }

  #usageOf(tenant: Tenant, limits: Limits): Usage {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const now = this.#options.clock.now();
    const bucket = (perMinute: number | undefined): Bucket | undefined =>
      perMinute === undefined ? undefined : new Bucket(perMinute, now);
    const usage: Usage = {
      turns: 0,
      bytes: 0,
      requests: bucket(limits.requests_per_minute),
      tokens: bucket(limits.tokens_per_minute),
      limits,
    };
    this.#tenants.set(tenant, usage);
    return usage;
  }

  #check(usage: Usage, bytes: number): void {
    const { requests, tokens, limits } = usage;
    const now = this.#options.clock.now();
    const refuse = (code: FaultCode, what: string, waitMs: number): Fault =>
      new Fault(code, `This key has used up ${what}; send the request again in a moment.`, {
        retryAfter: String(Math.max(1, Math.ceil(waitMs / 1000))),
        rateLimits: this.#view(usage),
      });
    if (usage.turns >= (limits.concurrent_turns ?? Infinity))
      throw refuse("limit.turns", `its ${limits.concurrent_turns} turns at once`, 1000);
    if (usage.bytes + bytes > (limits.bytes_in_flight ?? Infinity))
      throw refuse("limit.bytes", `its ${limits.bytes_in_flight} bytes in flight`, 1000);
    const forRequest = requests?.waitFor(1, now) ?? 0;
    if (forRequest > 0)
      throw refuse("limit.requests", `its ${requests?.perMinute} requests a minute`, forRequest);
    const forToken = tokens?.waitFor(1, now) ?? 0;
    if (forToken > 0)
      throw refuse("limit.tokens", `its ${tokens?.perMinute} tokens a minute`, forToken);
  }

  #view({ requests, tokens }: Usage): RateLimits {
    const now = this.#options.clock.now();
    return { requests: requests?.view(now), tokens: tokens?.view(now) };
  }

  /** A replica that lets nothing in learns nothing, and needs to know nothing. */
  #shareLater(): void {
    const { clock, shared } = this.#options;
    if (shared === undefined || this.#isSharing) return;
    this.#isSharing = true;
    clock.at(clock.now() + SHARE_MS, () => void this.#share(shared), "background");
  }

  async #share(shared: SharedLimits): Promise<void> {
    const { clock } = this.#options;
    const spent = [...this.#tenants].flatMap(([tenant, { requests, tokens }]) =>
      Object.entries({ requests, tokens }).flatMap(([kind, bucket]) =>
        bucket === undefined
          ? []
          : [{ tenant, kind, bucket, perMinute: bucket.perMinute, amount: bucket.takeUnshared() }],
      ),
    );
    try {
      const levels = await shared.spend(
        spent.map(({ tenant, kind, perMinute, amount }) => ({ tenant, kind, perMinute, amount })),
      );
      for (const [at, { bucket }] of spent.entries())
        bucket.setShared(levels[at] ?? bucket.perMinute, clock.now());
    } catch {
      // The store reports its own trouble; until it is back each replica goes by its own count.
      for (const { bucket, amount } of spent) bucket.keepUnshared(amount);
    } finally {
      this.#isSharing = false;
    }
  }
}
