/** How far the brackets of a JSON text have got that comes in pieces. */
export type Brackets = { opened: boolean; depth: number; quoted: boolean; escaped: boolean };

export const newBrackets = (): Brackets => ({
  opened: false,
  depth: 0,
  quoted: false,
  escaped: false,
});

/** Goes on by a piece of the text. */
export function readBrackets(brackets: Brackets, piece: string): void {
  let { opened, depth, quoted, escaped } = brackets;
  for (let at = 0; at < piece.length; at++) {
    const char = piece.charCodeAt(at);
    if (escaped) escaped = false;
    else if (quoted) {
      if (char === 0x5c) escaped = true;
      else if (char === 0x22) quoted = false;
    } else if (char === 0x22) quoted = true;
    else if (char === 0x7b || char === 0x5b) {
      opened = true;
      depth++;
    } else if (char === 0x7d || char === 0x5d) depth--;
  }
  brackets.opened = opened;
  brackets.depth = depth;
  brackets.quoted = quoted;
  brackets.escaped = escaped;
}

/** Whether every bracket is closed again. */
export const areClosed = ({ opened, depth }: Brackets): boolean => opened && depth <= 0;
