/** A turn under way. */
export type RunningTurn = {
  /** Ends it honestly: the client is told that the gateway stops. */
  halt(): void;
  /** Its place in the roster. */
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

  haltAll(): void {
    // A turn leaves the roster when it is halted.
    for (const turn of this.#turns.slice()) turn.halt();
  }
}
