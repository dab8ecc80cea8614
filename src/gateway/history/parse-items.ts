import { checkCount, checkItems, valuesIn } from "../../dialects/shared/request-counts.ts";
import { append } from "../../turn/append.ts";
import { Fault } from "../../turn/fault.ts";
import { isLong } from "../http/steps.ts";
import type { GatewayState } from "../state.ts";

/**
 * Parses stored items, many of them in steps. They are held to what a request may
 * be made of; `path` is the field that refers to them.
 */
export async function parseItems(
  { steps, config }: Pick<GatewayState, "steps" | "config">,
  texts: readonly string[],
  path: string,
  parse: (text: string) => unknown = JSON.parse,
): Promise<readonly unknown[]> {
  const { counts } = config.server;
  const items: unknown[] = [];
  // What many requests wait for may come at once, so that the first step waits for its turn too.
  const rest = steps.resting(texts.length > 1 || texts.some(isLong) ? Infinity : 0);
  let values = 0;
  for (const text of texts) {
    await rest();
    values += valuesIn(text);
    checkCount("values", values, counts, path);
    append(items, parsed(text, parse));
  }
  checkItems(items, counts, path);
  await rest();
  return items;
}

/** A damaged row may hold anything. */
function parsed(text: string, parse: (text: string) => unknown): readonly unknown[] {
  try {
    return parse(`[${text}]`) as unknown[];
  } catch {
    throw new Fault(
      "store.unusable",
      "A stored item is damaged: it is not JSON. Delete what it belongs to, and send that again.",
    );
  }
}
