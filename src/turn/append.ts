/**
 * Adds all entries of a list to another. Some 100,000 entries spread into arguments overflow the
 * stack, so no list of a client or an upstream may be spread into arguments.
 */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}
