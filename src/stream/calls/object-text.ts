import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";

/** The text of a JSON object while it is written. */
export type ObjectText = { add(piece: string): void; isWhole(): boolean };

/** Whoever asks often is answered soon: every character is looked at once, and the whole parsed once. */
export function objectText(): ObjectText {
  const pieces: string[] = [];
  const scanner = new JsonScanner();
  let looked = 0;
  let whole: boolean | undefined;
  return {
    add: (piece) => void pieces.push(piece),
    isWhole() {
      for (; looked < pieces.length; looked++) {
        const piece = pieces[looked] ?? "";
        if (whole !== undefined) whole &&= piece.trim() === "";
        else if (scanner.scan(piece) !== -1)
          whole = isFields(jsonOf(pieces.slice(0, looked + 1).join("")));
      }
      return whole === true;
    },
  };
}
