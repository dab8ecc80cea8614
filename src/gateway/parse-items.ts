import { checkCount, checkItems, valuesIn } from "../dialects/shared/request-counts.ts";
import { append } from "../turn/append.ts";
import { resting, type Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Config } from "./config.ts";

type State = { readonly clock: Clock; readonly config: Pick<Config, "server"> };

/**
 * Parses stored items, and has others served in between. They are held to what a
 * request may be made of; `path` is the field that refers to them.
 */
export async function parseItems(
  { clock, config }: State,
  texts: readonly string[],
  path: string,
  parse: (text: string) => unknown = JSON.parse,
): Promise<readonly unknown[]> {
  const { counts } = config.server;
  const items: unknown[] = [];
  const rest = resting(clock);
  let values = 0;
  for (const text of texts) {
    values += valuesIn(text);
    checkCount("values", values, counts, path);
    append(items, parsed(text, parse));
    await rest();
  }
  checkItems(items, counts, path);
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
