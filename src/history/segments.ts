import type { Clock } from "../turn/clock.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Retention } from "./store.ts";

type Segment<Content> = {
  readonly content: Content;
  /** What has been counted among its bytes already. */
  readonly shared: Set<SharedText>;
  bytes: number;
  newest: number;
};
type Added = {
  readonly bytes: number;
  readonly now: number;
  readonly shared: SharedText | undefined;
};
/** Oldest first. */
type Kept<Content> = { bytes: number; readonly segments: Segment<Content>[] };

/** What is kept is dropped in parts of this many. */
export const SEGMENTS = 32;

/**
 * Bounded memory of every tenant: at most `maxBytes` over all of them. What is
 * too much goes from the tenant that holds most, oldest first, so that nobody's
 * requests push out the state of somebody who asks less. Segments are only added
 * to, and dropped whole: a map that gains and loses an entry with every request
 * leaves tables behind that keep dead entries from the young generation's
 * collector.
 */
export class TenantSegments<Content> {
  readonly #retention: Retention;
  readonly #clock: Pick<Clock, "now">;
  readonly #create: () => Content;
  readonly #onDrop: ((content: Content) => void) | undefined;
  readonly #tenants = new Map<Tenant, Kept<Content>>();
  #bytes = 0;

  constructor(
    retention: Retention,
    clock: Pick<Clock, "now">,
    create: () => Content,
    onDrop?: (content: Content) => void,
  ) {
    this.#retention = retention;
    this.#clock = clock;
    this.#create = create;
    this.#onDrop = onDrop;
  }

  /**
   * The content to add something of this weight to; undefined if it is too heavy
   * to be kept at all. What it shares with others is counted once in a segment.
   */
  open(tenant: Tenant, bytes: number, shared?: SharedText): Content | undefined {
    const { maxBytes } = this.#retention;
    const whole = bytes + (shared === undefined ? 0 : 2 * shared.text.length);
    if (whole > maxBytes) return undefined;
    while (this.#bytes + whole > maxBytes) this.#dropFromHeaviest();
    const now = this.#clock.now();
    const last = this.#tenants.get(tenant)?.segments.at(-1);
    if (last !== undefined) {
      const added = shared !== undefined && last.shared.has(shared) ? bytes : whole;
      if (last.bytes + added <= maxBytes / SEGMENTS)
        return this.#add(tenant, last, { bytes: added, now, shared });
    }
    this.#dropExpired(now);
    const segment = {
      content: this.#create(),
      shared: new Set<SharedText>(),
      bytes: 0,
      newest: now,
    };
    const kept = this.#tenants.get(tenant);
    if (kept === undefined) this.#tenants.set(tenant, { bytes: 0, segments: [segment] });
    else kept.segments.push(segment);
    return this.#add(tenant, segment, { bytes: whole, now, shared });
  }

  #add(tenant: Tenant, segment: Segment<Content>, { bytes, now, shared }: Added): Content {
    const kept = this.#tenants.get(tenant);
    if (shared !== undefined) segment.shared.add(shared);
    segment.bytes += bytes;
    segment.newest = now;
    if (kept !== undefined) kept.bytes += bytes;
    this.#bytes += bytes;
    return segment.content;
  }

  /** The first thing found, in the newest content first. */
  find<Value>(tenant: Tenant, look: (content: Content) => Value | undefined): Value | undefined {
    const segments = this.#tenants.get(tenant)?.segments ?? [];
    for (let at = segments.length - 1; at >= 0; at--) {
      const segment = segments[at];
      const value = segment === undefined ? undefined : look(segment.content);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  contents(tenant: Tenant): readonly Content[] {
    return (this.#tenants.get(tenant)?.segments ?? []).map(({ content }) => content);
  }

  #dropExpired(now: number): void {
    for (const [tenant, kept] of this.#tenants)
      while (kept.segments[0] !== undefined && this.#isExpired(kept.segments[0], now))
        this.#drop(tenant, kept);
  }

  #isExpired({ newest }: Segment<Content>, now: number): boolean {
    return now - newest > this.#retention.maxAgeMs;
  }

  #dropFromHeaviest(): void {
    let heaviest: [Tenant, Kept<Content>] | undefined;
    for (const entry of this.#tenants)
      if (heaviest === undefined || entry[1].bytes > heaviest[1].bytes) heaviest = entry;
    if (heaviest !== undefined) this.#drop(...heaviest);
  }

  #drop(tenant: Tenant, kept: Kept<Content>): void {
    const segment = kept.segments.shift();
    const bytes = segment?.bytes ?? 0;
    if (segment !== undefined) this.#onDrop?.(segment.content);
    kept.bytes -= bytes;
    this.#bytes -= bytes;
    if (kept.segments.length === 0) this.#tenants.delete(tenant);
  }
}
