import type { Tenant } from "../turn/tenant.ts";
import type { DialectName } from "../turn/turn.ts";

/** What can be said of a turn under way. It holds no content. */
export type RunningTurnView = {
  readonly requestId: string;
  readonly tenant: Tenant;
  readonly door: DialectName;
  readonly model: string;
  /** `upstream/model`, as asked for there. */
  readonly upstream: string;
  readonly stream: boolean;
  /** How many times an upstream was asked so far. */
  readonly rounds: number;
  /** In milliseconds since the epoch. */
  readonly startedAt: number;
};

/** A turn under way. */
export type RunningTurn = {
  /** None for a request that still waits to become a turn. */
  view?(): RunningTurnView;
  /** Ends it honestly: the client is told that the gateway stops. */
  halt(): void;
  /** Its place in the list. */
  place: number;
};

/**
 * The turns under way. An array and not a Set: a Set that gains and loses a
 * member with every request leaves behind tables that keep each other, and all
 * their members, from the young generation's collector.
 */
export class RunningTurns {
  readonly #turns: RunningTurn[] = [];

  get size(): number {
    return this.#turns.length;
  }

  add(turn: RunningTurn): void {
    turn.place = this.#turns.push(turn) - 1;
  }

  /** False if it was not there any more. */
  remove(turn: RunningTurn): boolean {
    if (this.#turns[turn.place] !== turn) return false;
    const last = this.#turns.pop();
    if (last !== undefined && last !== turn) {
      this.#turns[turn.place] = last;
      last.place = turn.place;
    }
    return true;
  }

  list(): readonly RunningTurnView[] {
    return this.#turns.flatMap((turn) => turn.view?.() ?? []);
  }

  haltAll(): void {
    // A turn leaves the list when it is halted.
    for (const turn of this.#turns.slice()) turn.halt();
  }
}
