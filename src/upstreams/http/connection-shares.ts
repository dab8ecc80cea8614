import type { Clock } from "../../turn/clock.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";

export type ShareOptions = {
  /** How many connections there are. */
  readonly connections: number;
  /** How long a request waits for one, in milliseconds. */
  readonly waitMs: number;
  readonly clock: Clock;
};

/** A request that needs a connection. */
export type Waiting = {
  /** It has a connection. */
  start(): void;
  /** It waited too long, and left the queue. */
  late(): void;
};

/** Requests in the order of their arrival, with what cancels the timer of each. */
type Queue = Map<Waiting, () => void>;

/**
 * Shares the connections of one upstream among tenants. Waiting requests are
 * served tenant by tenant, and an eighth of the connections is kept for tenants that
 * hold less than that: unread streams use up the share of their own tenant alone.
 */
export class ConnectionShares {
  readonly #options: ShareOptions;
  readonly #kept: number;
  readonly #byTenant = new Map<Tenant, number>();
  /** In the order in which they are next served. */
  readonly #queues = new Map<Tenant, Queue>();
  #held = 0;

  constructor(options: ShareOptions) {
    this.#options = options;
    this.#kept = Math.floor(options.connections / 8);
  }

  /** Starts a request at once if its tenant may have a connection; false: it waits. */
  enter(tenant: Tenant, waiting: Waiting): boolean {
    const held = this.#byTenant.get(tenant) ?? 0;
    if (this.#hasRoom(tenant, held) && !this.#queues.has(tenant)) {
      this.#held++;
      this.#byTenant.set(tenant, held + 1);
      waiting.start();
      return true;
    }
    const { clock, waitMs } = this.#options;
    const tooLate = (): void => {
      this.leaveQueue(tenant, waiting);
      waiting.late();
    };
    const queue: Queue = this.#queues.get(tenant) ?? new Map();
    queue.set(waiting, clock.at(clock.now() + waitMs, tooLate));
    this.#queues.set(tenant, queue);
    return false;
  }

  leaveQueue(tenant: Tenant, waiting: Waiting): void {
    const queue = this.#queues.get(tenant);
    queue?.get(waiting)?.();
    queue?.delete(waiting);
    if (queue?.size === 0) this.#queues.delete(tenant);
  }

  /** Gives a connection back. */
  leave(tenant: Tenant): void {
    this.#held--;
    const held = (this.#byTenant.get(tenant) ?? 0) - 1;
    if (held > 0) this.#byTenant.set(tenant, held);
    else this.#byTenant.delete(tenant);
    if (this.#queues.size > 0) this.#serveNext();
  }

  #hasRoom(tenant: Tenant, held: number): boolean {
    const free = this.#options.connections - this.#held;
    return free > this.#kept || (free > 0 && (tenant === LOCAL_TENANT || held < this.#kept));
  }

  #serveNext(): void {
    for (const [tenant, queue] of this.#queues) {
      const [next] = queue.keys();
      const held = this.#byTenant.get(tenant) ?? 0;
      if (next === undefined || !this.#hasRoom(tenant, held)) continue;
      this.leaveQueue(tenant, next);
      // Behind all others, so that every tenant has its turn.
      this.#queues.delete(tenant);
      if (queue.size > 0) this.#queues.set(tenant, queue);
      this.#held++;
      this.#byTenant.set(tenant, held + 1);
      next.start();
      return;
    }
  }
}
