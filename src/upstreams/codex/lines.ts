const NEWLINE = 0x0a;

export type LineOptions = {
  /** Bytes; a longer line is skipped as a whole. */
  readonly longest: number;
  readonly each: (line: string) => void;
  readonly skipped: () => void;
};

/** Cuts what arrives into lines. Pieces of a line are joined once, so a long line costs no more than its length. */
export function lineReader({ longest, each, skipped }: LineOptions): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let held = 0;

  const take = (piece: Buffer): void => {
    held += piece.length;
    // What is too long is only counted from here on.
    if (held <= longest) pieces.push(piece);
    else pieces = [];
  };
  const close = (): void => {
    const [first] = pieces;
    // Most lines come in one piece, and that need not be copied.
    const line = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    const isTooLong = held > longest;
    pieces = [];
    held = 0;
    if (isTooLong) return skipped();
    const text = line.toString();
    if (text.trim() !== "") each(text);
  };

  return (chunk) => {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      take(chunk.subarray(from, end));
      close();
      from = end + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  };
}
