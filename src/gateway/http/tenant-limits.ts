import { ownOf } from "../../json/json.ts";
import type { SharedLimits } from "../../history/log.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import type { RateLimit, RateLimits } from "../../turn/rate-limit.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Limits, LimitsConfig } from "../config.ts";

/** A turn that was admitted. */
export type TurnPermit = {
  /** The remaining quota of its tenant. */
  view(): RateLimits;
  /** `used` returns the tokens that the turn has used so far. */
  follow(used: () => number): void;
  /** The turn has ended and has used `tokens`. */
  leave(tokens: number): void;
};

/** A turn under way, and the tokens that were taken from the quota for it. */
type RunningTurn = { paid: number; used: () => number };

type Usage = {
  readonly turns: Set<RunningTurn>;
  bytes: number;
  readonly requests: Bucket | undefined;
  readonly tokens: Bucket | undefined;
  readonly limits: Limits;
};

export type TenantLimitsOptions = {
  readonly config: LimitsConfig;
  readonly clock: Clock;
  /** Counts shared by the replicas. */
  readonly shared?: SharedLimits | undefined;
};

/** Milliseconds between two exchanges of counts with the other replicas. */
const SHARE_MS = 1000;

/** Holds every tenant to its limits. */
export class TenantLimits {
  readonly #options: TenantLimitsOptions;
  readonly #tenants = new Map<Tenant, Usage>();
  readonly #areThere: boolean;
  #isSharing = false;

  constructor(options: TenantLimitsOptions) {
    this.#options = options;
    const { config } = options;
    this.#areThere = [config.default, ...Object.values(config.tenants)].some(isLimited);
  }

  /**
   * Admits a turn; undefined if its tenant has no limits. Throws a Fault if a limit is reached.
   * `input` estimates the tokens of the request, which are paid at once; those of the answer are
   * paid when another turn of the tenant asks, and at the end.
   */
  enter(tenant: Tenant, bytes: number, input: () => number): TurnPermit | undefined {
    if (!this.#areThere) return undefined;
    const { config, clock } = this.#options;
    const limits = ownOf(config.tenants, tenant) ?? config.default;
    if (!isLimited(limits)) return undefined;
    const usage = this.#usageOf(tenant, limits);
    this.#check(usage, bytes);
    const turn: RunningTurn = { paid: usage.tokens === undefined ? 0 : input(), used: () => 0 };
    usage.turns.add(turn);
    usage.bytes += bytes;
    usage.requests?.spend(1, clock.now());
    usage.tokens?.spend(turn.paid, clock.now());
    this.#shareLater();
    return {
      view: () => this.#view(usage),
      follow: (used) => void (turn.used = used),
      leave: (tokens) => {
        if (!usage.turns.delete(turn)) return;
        usage.bytes -= bytes;
        // Also gives back an estimate that was too high.
        usage.tokens?.spend(tokens - turn.paid, clock.now());
        this.#shareLater();
      },
    };
  }

  #usageOf(tenant: Tenant, limits: Limits): Usage {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const now = this.#options.clock.now();
    const bucket = (perMinute: number | undefined): Bucket | undefined =>
      perMinute === undefined ? undefined : new Bucket(perMinute, now);
    const usage: Usage = {
      turns: new Set(),
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
    if (usage.turns.size >= (limits.concurrent_turns ?? Infinity))
      throw refuse("limit.turns", `its ${limits.concurrent_turns} turns at once`, 1000);
    if (usage.bytes + bytes > (limits.bytes_in_flight ?? Infinity))
      throw refuse("limit.bytes", `its ${limits.bytes_in_flight} bytes in flight`, 1000);
    const forRequest = requests?.waitFor(1, now) ?? 0;
    if (forRequest > 0)
      throw refuse("limit.requests", `its ${requests?.perMinute} requests a minute`, forRequest);
    this.#settle(usage);
    const forToken = tokens?.waitFor(1, now) ?? 0;
    if (forToken > 0)
      throw refuse("limit.tokens", `its ${tokens?.perMinute} tokens a minute`, forToken);
  }

  #view(usage: Usage): RateLimits {
    const now = this.#options.clock.now();
    this.#settle(usage);
    return { requests: usage.requests?.view(now), tokens: usage.tokens?.view(now) };
  }

  /** Pays the tokens that the turns under way have used since the last payment. */
  #settle({ turns, tokens }: Usage): void {
    if (tokens === undefined) return;
    for (const turn of turns) {
      const more = turn.used() - turn.paid;
      if (more <= 0) continue;
      turn.paid += more;
      tokens.spend(more, this.#options.clock.now());
    }
  }

  /** Counts are exchanged only after a turn was admitted or has ended. */
  #shareLater(): void {
    const { clock, shared } = this.#options;
    if (shared === undefined || this.#isSharing) return;
    this.#isSharing = true;
    clock.at(clock.now() + SHARE_MS, () => void this.#share(shared), "background");
  }

  async #share(shared: SharedLimits): Promise<void> {
    const { clock } = this.#options;
    for (const usage of this.#tenants.values()) this.#settle(usage);
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
      // The store reports its own failure; meanwhile each replica has only its own count.
      for (const { bucket, amount } of spent) bucket.keepUnshared(amount);
    } finally {
      this.#isSharing = false;
    }
  }
}

const isLimited = (limits: Limits): boolean =>
  Object.values(limits).some((limit) => limit !== undefined);

const MINUTE_MS = 60_000;

/**
 * A quota by the minute that refills steadily and holds at most the quota of one minute. It may
 * be overdrawn, because the tokens of a turn are known only while it runs.
 */
class Bucket {
  readonly perMinute: number;
  #level: number;
  #at: number;
  /** Spent since the last exchange with the other replicas. */
  #unshared = 0;

  constructor(perMinute: number, now: number) {
    this.perMinute = perMinute;
    this.#level = perMinute;
    this.#at = now;
  }

  spend(amount: number, now: number): void {
    this.#fill(now);
    this.#level -= amount;
    this.#unshared += amount;
  }

  /** Milliseconds until the amount is there. */
  waitFor(amount: number, now: number): number {
    this.#fill(now);
    return Math.max(0, Math.ceil(((amount - this.#level) * MINUTE_MS) / this.perMinute));
  }

  /** The amount to report to the other replicas; counts as reported. */
  takeUnshared(): number {
    const amount = this.#unshared;
    this.#unshared = 0;
    return amount;
  }

  /** The report has failed: the amount is reported later. */
  keepUnshared(amount: number): void {
    this.#unshared += amount;
  }

  /** Sets the level counted by all replicas, less the amount spent since the report. */
  setShared(level: number, now: number): void {
    this.#level = Math.min(this.perMinute, level) - this.#unshared;
    this.#at = now;
  }

  view(now: number): RateLimit {
    this.#fill(now);
    return {
      limit: this.perMinute,
      remaining: Math.max(0, Math.floor(this.#level)),
      resetMs: this.waitFor(this.perMinute, now),
    };
  }

  #fill(now: number): void {
    const gained = ((now - this.#at) * this.perMinute) / MINUTE_MS;
    this.#level = Math.min(this.perMinute, this.#level + gained);
    this.#at = now;
  }
}
