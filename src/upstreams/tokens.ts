/** Estimates token counts: four characters a token. */

import type { AnyName } from "../turn/names.ts";
import type { Item, Part, Turn } from "../turn/turn.ts";

/** An estimate for so many characters. */
export const tokensOf = (chars: number): number => Math.ceil(chars / 4);

export const countTokens = (text: string): number => tokensOf(text.length);

/** An estimate of a request's tokens. */
export function inputTokens<Name extends AnyName>(turn: Turn<Name>): number {
  const declared = turn.tools.length === 0 ? 0 : countTokens(JSON.stringify(turn.tools));
  return turn.items.reduce((sum, item) => sum + itemTokens(item), declared);
}

/** Tokens that delimit an item, and of an image or file (OpenAI's count of an image in low detail). */
const FRAME = 3;
const MEDIA = 85;

function itemTokens<Name extends AnyName>(item: Item<Name>): number {
  switch (item.type) {
    case "message":
    case "result":
      return FRAME + item.parts.reduce((sum, part) => sum + partTokens(part), 0);
    case "reasoning":
      return FRAME + countTokens(item.content.join("") || item.summary.join(""));
    case "call":
      return FRAME + countTokens(item.name) + countTokens(item.input);
    case "opaque":
      return FRAME;
    default:
      return item satisfies never;
  }
}

const partTokens = (part: Part): number =>
  part.type === "text" || part.type === "refusal" ? countTokens(part.text) : MEDIA;
