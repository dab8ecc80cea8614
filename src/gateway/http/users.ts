/**
 * Counts the users of something that may only be closed when it has none. Turns
 * change `count` themselves: a call for each turn would cost more than the count.
 */
export class Users {
  count = 0;
  #waiting: (() => void)[] | undefined;

  /** Adds a user; the returned function removes it, once. */
  enter(): () => void {
    let isIn = true;
    this.count++;
    return () => {
      if (!isIn) return;
      isIn = false;
      if (--this.count === 0) this.left();
    };
  }

  /** Calls `then` when the last user has left: at once where there is none. */
  whenNone(then: () => void): void {
    if (this.count === 0) then();
    else (this.#waiting ??= []).push(then);
  }

  /** The last user has left. */
  left(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const then of waiting ?? []) then();
  }
}
