import type { Clock } from "../../turn/clock.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";

type ShareOptions = {
  readonly connections: number;
  /** Longest wait of a request, in milliseconds. */
  readonly waitMs: number;
  readonly clock: Clock;
};

/** A request that needs a connection. */
export type Waiting = {
  /** Called when the request has its connection. */
  start(): void;
  /** Called after the longest wait; the request has left the queue. */
  late(): void;
};

/** Requests in the order of their arrival; the value cancels the request's timer. */
type Queue = Map<Waiting, () => void>;

/**
 * Shares the connections of one upstream among tenants. Waiting requests are
 * served tenant by tenant, and an eighth of the connections is kept for tenants that
 * hold less than that: unread streams use up only the share of their tenant.
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

  /** Starts a request as soon as its tenant may have a connection: mostly at once. */
  enter(tenant: Tenant, waiting: Waiting): void {
    const { clock, waitMs, connections } = this.#options;
    if (this.#queues.size === 0 && connections - this.#held > this.#kept)
      return this.#start(tenant, waiting);
    const tooLate = (): void => {
      this.leaveQueue(tenant, waiting);
      waiting.late();
    };
    const queue: Queue = this.#queues.get(tenant) ?? new Map();
    queue.set(waiting, clock.at(clock.now() + waitMs, tooLate));
    this.#queues.set(tenant, queue);
    this.#serveNext();
  }

  #start(tenant: Tenant, waiting: Waiting): void {
    this.#held++;
    this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + 1);
    waiting.start();
  }

  /** Does nothing for a request that has started. */
  leaveQueue(tenant: Tenant, waiting: Waiting): void {
    const queue = this.#queues.get(tenant);
    queue?.get(waiting)?.();
    queue?.delete(waiting);
    if (queue?.size === 0) this.#queues.delete(tenant);
  }

  leave(tenant: Tenant): void {
    this.#held--;
    const held = (this.#byTenant.get(tenant) ?? 0) - 1;
    if (held > 0) this.#byTenant.set(tenant, held);
    else this.#byTenant.delete(tenant);
    if (this.#queues.size > 0) this.#serveNext();
  }

  #serveNext(): void {
    const free = this.#options.connections - this.#held;
    if (free <= 0) return;
    for (const [tenant, queue] of this.#queues) {
      const [next] = queue.keys();
      const mayTakeKept = tenant === LOCAL_TENANT || (this.#byTenant.get(tenant) ?? 0) < this.#kept;
      if (next === undefined || (free <= this.#kept && !mayTakeKept)) continue;
      this.leaveQueue(tenant, next);
      // Now the last in the order, so that every tenant has its turn.
      this.#queues.delete(tenant);
      if (queue.size > 0) this.#queues.set(tenant, queue);
      return this.#start(tenant, next);
    }
  }
}
