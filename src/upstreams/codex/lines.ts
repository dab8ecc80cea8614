const NEWLINE = 0x0a;

export type LineOptions = {
  /** Bytes; a longer line is skipped as a whole. */
  readonly longest: number;
  readonly onLine: (line: string) => void;
  readonly onSkipped: () => void;
};

/** Splits chunks into lines. The pieces of a line are joined once, so that the cost is linear. */
export function lineReader({ longest, onLine, onSkipped }: LineOptions): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let held = 0;

  const take = (piece: Buffer): void => {
    held += piece.length;
    // Of a line that is too long only the length is kept.
    if (held <= longest) pieces.push(piece);
    else pieces = [];
  };
  const close = (): void => {
    const [first] = pieces;
    // Most lines are in one chunk and need no copy.
    const line = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    const isTooLong = held > longest;
    pieces = [];
    held = 0;
    if (isTooLong) return onSkipped();
    const text = line.toString();
    if (text.trim() !== "") onLine(text);
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
