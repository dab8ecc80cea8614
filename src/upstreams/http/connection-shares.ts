import type { Clock } from "../../turn/clock.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";

export type ShareOptions = {
  /** How many connections there are. */
  readonly connections: number;
  /** How long a request waits for one, in milliseconds. */
  readonly waitMs: number;
  readonly clock: Clock;
};

type Waiting = { readonly start: () => void; readonly callOff: () => void };

/**
 * Shares the connections of one upstream among tenants. Those who wait take
 * turns by tenant, and an eighth of the connections is kept for tenants that hold
 * less than that: streams that nobody reads can use up one tenant's share, and
 * nobody else's.
 */
export class ConnectionShares {
  readonly #options: ShareOptions;
  readonly #kept: number;
  readonly #byTenant = new Map<Tenant, number>();
  /** In the order in which they are next served. */
  readonly #queues = new Map<Tenant, Set<Waiting>>();
  #held = 0;

  constructor(options: ShareOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.connections / 8);
  }

  /**
   * Starts a request as soon as there is a connection for its tenant: at once
   * where one is free. `late` is called instead where that takes too long. The
   * returned function leaves the queue.
   */
  enter(tenant: Tenant, start: () => void, late: () => void): () => void {
    if (this.#hasRoom(tenant) && !this.#queues.has(tenant)) {
      this.#take(tenant);
      start();
      return () => {};
    }
    const { clock, waitMs } = this.#options;
    const queue = this.#queues.get(tenant) ?? new Set();
    const leaveQueue = (): void => {
      waiting.callOff();
      queue.delete(waiting);
      if (queue.size === 0 && this.#queues.get(tenant) === queue) this.#queues.delete(tenant);
    };
    const tooLate = (): void => {
      leaveQueue();
      late();
    };
    const waiting: Waiting = { start, callOff: clock.at(clock.now() + waitMs, tooLate) };
    queue.add(waiting);
    this.#queues.set(tenant, queue);
    return leaveQueue;
  }

  /** Gives a connection back. */
  leave(tenant: Tenant): void {
    this.#held--;
    const held = (this.#byTenant.get(tenant) ?? 0) - 1;
    if (held > 0) this.#byTenant.set(tenant, held);
    else this.#byTenant.delete(tenant);
    if (this.#queues.size > 0) this.#serveNext();
  }

  #hasRoom(tenant: Tenant): boolean {
    const free = this.#options.connections - this.#held;
    if (free <= 0) return false;
    if (free > this.#kept || tenant === LOCAL_TENANT) return true;
    return (this.#byTenant.get(tenant) ?? 0) < this.#kept;
  }

  #take(tenant: Tenant): void {
    this.#held++;
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + 1);
  }

  #serveNext(): void {
    for (const [tenant, queue] of this.#queues) {
      const [next] = queue;
      if (next === undefined || !this.#hasRoom(tenant)) continue;
      queue.delete(next);
      // Behind all others, so that every tenant has its turn.
      this.#queues.delete(tenant);
      if (queue.size > 0) this.#queues.set(tenant, queue);
      next.callOff();
      this.#take(tenant);
      next.start();
      return;
    }
  }
}
