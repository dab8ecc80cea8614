import { isFields, jsonOf } from "../../turn/json.ts";

/** The text of a JSON object while it is written. */
export type ObjectText = { add(piece: string): void; isWhole(): boolean };

/** Whoever asks often is answered soon: every sign is looked at once, and the whole parsed once. */
export function objectText(): ObjectText {
  const pieces: string[] = [];
  const balance = balancing();
  let looked = 0;
  let whole: boolean | undefined;
  return {
    add: (piece) => void pieces.push(piece),
    isWhole() {
      for (; looked < pieces.length; looked++) balance.add(pieces[looked] ?? "");
      if (balance.depth() !== 0) return false;
      whole ??= isFields(jsonOf(pieces.join("")));
      return whole && !balance.hasMore();
    },
  };
}

/** How many brackets are open, and whether anything stands behind the last. None has come yet: one. */
function balancing() {
  let depth = -1;
  let inText = false;
  let escaped = false;
  let more = false;
  const read = (char: string): void => {
    if (escaped) escaped = false;
    else if (inText && char === "\\") escaped = true;
    else if (char === '"') inText = !inText;
    else if (inText) return;
    else if (char === "{" || char === "[") depth = Math.max(depth, 0) + 1;
    else if (char === "}" || char === "]") depth--;
  };
  return {
    add(piece: string): void {
      for (let at = 0; at < piece.length; at++) {
        const char = piece.charAt(at);
        if (depth === 0) more ||= char.trim() !== "";
        else read(char);
      }
    },
    depth: () => depth,
    hasMore: () => more,
  };
}
