import { isFields, jsonOf } from "../../turn/json.ts";
import { areClosed, newBrackets, readBrackets } from "./brackets.ts";

/** The text of a JSON object while it is written. */
export type ObjectText = { add(piece: string): void; isWhole(): boolean };

/** Whoever asks often is answered soon: every sign is looked at once, and the whole parsed once. */
export function objectText(): ObjectText {
  const pieces: string[] = [];
  const brackets = newBrackets();
  let looked = 0;
  let whole: boolean | undefined;
  return {
    add: (piece) => void pieces.push(piece),
    isWhole() {
      for (; looked < pieces.length; looked++) {
        const piece = pieces[looked] ?? "";
        if (whole === undefined) readBrackets(brackets, piece);
        else if (piece.trim() !== "") whole = false;
      }
      if (areClosed(brackets)) whole ??= isFields(jsonOf(pieces.join("")));
      return whole === true;
    },
  };
}
