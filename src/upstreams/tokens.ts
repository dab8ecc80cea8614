/** Estimates token counts: four characters a token. */

import type { AnyName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";

const CHARS = 4;

/** An estimate by the number of characters. */
export const tokensOf = (chars: number): number => Math.ceil(chars / CHARS);

export const countTokens = (text: string): number => tokensOf(text.length);

/** Tokens that delimit an item. */
const FRAME = 3;
/** Tokens of an image or file: OpenAI's count of an image in low detail. */
const MEDIA = 85;

/** An estimate of a request's tokens. It runs in every turn, and calls no function for an item. */
export function inputTokens<Name extends AnyName>(turn: Turn<Name>): number {
  const { tools } = turn;
  let tokens = tools.length === 0 ? 0 : Math.ceil(JSON.stringify(tools).length / CHARS);
  for (const item of turn.items) {
    tokens += FRAME;
    switch (item.type) {
      case "message":
      case "result":
        for (const part of item.parts)
          tokens +=
            part.type === "text" || part.type === "refusal"
              ? Math.ceil(part.text.length / CHARS)
              : MEDIA;
        break;
      case "reasoning":
        tokens += Math.ceil((item.content.join("") || item.summary.join("")).length / CHARS);
        break;
      case "call":
        tokens += Math.ceil(item.name.length / CHARS) + Math.ceil(item.input.length / CHARS);
        break;
      case "opaque":
        break;
      default:
        item satisfies never;
    }
  }
  return tokens;
}
