/**
 * Adds all entries of a list to another. Some 100,000 entries spread into arguments overflow the
 * stack, so no list of a client or an upstream may be spread into arguments.
 */
export function append<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}

/**
 * A list with one more entry. Most lists of a turn have one entry, and finished turns keep them:
 * a list of one is made as such, because V8 gives a list that grows room for 17 entries.
 */
export function listWith<T>(list: readonly T[], one: T, at = list.length): readonly T[] {
  if (list.length === 0 && at === 0) return [one];
  const own = list.length === 0 ? [] : (list as T[]);
  own[at] = one;
  return own;
}
