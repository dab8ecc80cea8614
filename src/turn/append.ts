/**
 * Adds all of a list to another. A spread hands each entry over on the
 * stack, which some 100,000 of them overflow: no list that somebody else makes
 * long may be spread into arguments.
 */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}
