/** Estimates token counts: four characters a token. */

import type { AnyName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";

/** An estimate for so many characters. */
export const tokensOf = (chars: number): number => Math.ceil(chars / 4);

export const countTokens = (text: string): number => tokensOf(text.length);

/** Tokens that delimit an item, and of an image or file (OpenAI's count of an image in low detail). */
const FRAME = 3;
const MEDIA = 85;

/** An estimate of a request's tokens. */
export function inputTokens<Name extends AnyName>(turn: Turn<Name>): number {
  let tokens = turn.tools.length === 0 ? 0 : tokensOf(JSON.stringify(turn.tools).length);
  for (const item of turn.items) {
    tokens += FRAME;
    switch (item.type) {
      case "message":
      case "result":
        for (const part of item.parts)
          tokens +=
            part.type === "text" || part.type === "refusal" ? tokensOf(part.text.length) : MEDIA;
        break;
      case "reasoning":
        tokens += tokensOf((item.content.join("") || item.summary.join("")).length);
        break;
      case "call":
        tokens += tokensOf(item.name.length) + tokensOf(item.input.length);
        break;
      case "opaque":
        break;
      default:
        item satisfies never;
    }
  }
  return tokens;
}
