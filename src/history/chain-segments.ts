/**
 * How the items of long chains are kept a second time, so that a chain of any
 * depth loads in few rows. The items of 16 turns that follow one another are
 * joined in one segment, and 16 segments of one level in one of the next. Every
 * turn is in one segment at most, and knows how far in it its own items reach:
 * whoever forks from it takes the segment up to there. So what is kept twice is
 * no more than what is kept, and it can be dropped at any time.
 */

/** How many turns or segments are joined in one. */
export const SPAN = 16;

/** Of a turn with this many bytes of items, a row of its own costs nothing beside them: it is in no segment. */
export const LARGE_TURN_BYTES = 64 * 1024;

/** No larger segment is made of smaller ones. */
export const MAX_SEGMENT_BYTES = 1024 * 1024;

/** How many turns are looked back at, where more than a span of them has been left. */
export const MAX_RUN = 4 * SPAN;

/** A turn that is to be in a segment: the JSON of its items, separated by commas. */
export type RunTurn = { readonly seq: number; readonly text: string };

export type JoinedTurns = {
  readonly text: string;
  /** By the number of each turn, behind which byte of the text its items end. */
  readonly ends: readonly (readonly [seq: number, end: number])[];
};

/** Joins turns, which are given oldest first. */
export function joinTurns(turns: readonly RunTurn[]): JoinedTurns {
  const texts: string[] = [];
  let bytes = 0;
  const ends = turns.map(({ seq, text }) => {
    if (text !== "") {
      bytes += Buffer.byteLength(text) + Number(texts.length > 0);
      texts.push(text);
    }
    return [seq, bytes] as const;
  });
  return { text: texts.join(","), ends };
}

/** How many turns without a segment a chain ends with, at a turn of so many bytes behind others. */
export const tailOf = (itemBytes: number, tailBefore: number): number =>
  itemBytes > LARGE_TURN_BYTES ? 0 : tailBefore + 1;
