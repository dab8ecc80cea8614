/** The known word that is most similar to the given one, or undefined. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const asked = plain(word);
  let best: string | undefined;
  // A third of the letters may differ, but never all of them.
  let least = Math.min(Math.max(1, Math.floor(asked.length / 3)) + 1, asked.length);
  for (const candidate of known) {
    const far = distance(asked, plain(candidate));
    if (far >= least) continue;
    best = candidate;
    least = far;
  }
  return best;
}

/** Up to three known words that contain the given one, or the most similar word. */
export function nearestFew(word: string, known: readonly string[]): readonly string[] {
  const asked = plain(word);
  const containing = asked.length < 3 ? [] : known.filter((one) => plain(one).includes(asked));
  const near = containing.length > 0 ? undefined : nearest(word, known);
  return near === undefined ? containing.slice(0, 3) : [near];
}

/** One form for `baseURL`, `base-url` and `base_url`. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_ ]/g, "");

/** The number of letters that were added, left out, changed or swapped with the next one. */
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
