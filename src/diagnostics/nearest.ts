/** The known word most like the given one, if any is like it at all. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const asked = plain(word);
  let best: string | undefined;
  // A third of the letters may differ, and never all: more than that is another word.
  let least = Math.min(Math.max(1, Math.floor(asked.length / 3)) + 1, asked.length);
  for (const candidate of known) {
    const far = distance(asked, plain(candidate));
    if (far >= least) continue;
    best = candidate;
    least = far;
  }
  return best;
}

/** Up to three known words for a shorter or misspelt one: first those that it is a part of. */
export function nearestFew(word: string, known: readonly string[]): readonly string[] {
  const asked = plain(word);
  const containing = asked.length < 3 ? [] : known.filter((one) => plain(one).includes(asked));
  const near = containing.length > 0 ? undefined : nearest(word, known);
  return near === undefined ? containing.slice(0, 3) : [near];
}

/** `baseURL`, `base-url` and `base_url` are one word to whoever typed it. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_ ]/g, "");

/** How many letters were added, left out, changed or swapped with the next one. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, at(before, column - 2) + 1);
      current.push(cost);
    }
    before = above;
    above = current;
  }
  return at(above, b.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? 0;
