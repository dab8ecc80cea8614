import { errorWords, shortened, type ErrorWords } from "../../dialects/errors/error-words.ts";
import { jsonOf } from "../../json/json.ts";

const LONGEST_TEXT = 300;

/** Reads the body of a refusal, whatever its shape. */
export function readError(body: string): ErrorWords {
  // Some wrap even their refusals as the frame of a stream.
  const bare = body.replace(/^\s*(?:event:[^\n]*\n)?data:/, "").trim();
  const error = errorWords(jsonOf(bare));
  // What is not JSON, or none that we know, is itself the reason.
  return error?.message === undefined ? { ...error, message: plainText(bare) } : error;
}

function plainText(body: string): string | undefined {
  const text = body.slice(0, 8_000);
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1];
  const bare = title ?? text.replaceAll(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ");
  return shortened(bare, LONGEST_TEXT) || undefined;
}
