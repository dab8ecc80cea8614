import { z } from "zod";
import { jsonOf } from "../../turn/json.ts";

/** What a refusal gave as its reason. */
export type Said = {
  message?: string | undefined;
  code?: string | undefined;
  type?: string | undefined;
  param?: string | undefined;
};

const words = z.string().trim().min(1).optional().catch(undefined);
const coded = z
  .union([z.string().min(1), z.number().transform(String)])
  .optional()
  .catch(undefined);
/** Every place where a provider has been seen to put its reason. */
const errorShape = z.looseObject({
  message: words,
  msg: words,
  error_description: words,
  title: words,
  code: coded,
  status: words,
  type: words,
  param: words,
  loc: z
    .array(z.union([z.string(), z.number()]))
    .optional()
    .catch(undefined),
});
const LONGEST_WORDS = 2_000;
const LONGEST_TEXT = 300;

/** Reads the body of a refusal, whatever its shape. */
export function readError(body: string): Said {
  // Some wrap even their refusals as the frame of a stream.
  const bare = body.replace(/^\s*(?:event:[^\n]*\n)?data:/, "").trim();
  // What is not JSON, or none that we know, is itself the reason.
  return findError(jsonOf(bare)) ?? { message: plainText(bare) };
}

function findError(value: unknown, depth = 0): Said | undefined {
  if (typeof value === "string") return { message: shortened(value, LONGEST_WORDS) };
  if (depth > 4 || typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    const found = value.map((entry) => findError(entry, depth + 1)).filter((one) => one?.message);
    const messages = found.map((one) => one?.message).join("; ");
    return found[0] && { ...found[0], message: shortened(messages, LONGEST_WORDS) };
  }
  const shape = errorShape.parse(value);
  const where = shape.loc?.slice(1).join(".");
  const said: Said = {
    message: shape.message ?? shape.msg ?? shape.error_description,
    // A number is only the status again; the word beside it says more.
    code: /^\d+$/.test(shape.code ?? "")
      ? (shape.status ?? shape.code)
      : (shape.code ?? shape.status),
    type: shape.type,
    param: shape.param ?? where,
  };
  if (said.message !== undefined) {
    const text = where ? `${where}: ${said.message}` : said.message;
    return { ...said, message: shortened(text, LONGEST_WORDS) };
  }
  for (const key of ["error", "errors", "detail", "message"]) {
    const inner = findError((value as Record<string, unknown>)[key], depth + 1);
    if (inner?.message !== undefined)
      return { ...inner, code: inner.code ?? said.code, param: inner.param ?? said.param };
  }
  return shape.title === undefined ? undefined : { ...said, message: shape.title };
}

function plainText(body: string): string | undefined {
  const text = body.slice(0, 4 * LONGEST_WORDS);
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1];
  const bare = title ?? text.replaceAll(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, " ");
  return shortened(bare, LONGEST_TEXT) || undefined;
}

function shortened(text: string, longest: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  return flat.length <= longest ? flat : `${flat.slice(0, longest)}...`;
}
