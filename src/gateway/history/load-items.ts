import { checkCount, checkItems, countValues } from "../../dialects/shared/request-counts.ts";
import type { EntryHead, Key, Weigh } from "../../history/log.ts";
import { append } from "../../turn/append.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { isLong } from "../http/steps.ts";
import type { GatewayState } from "../state.ts";

/** The stored items that a field of a request names. */
export type ItemSource = {
  readonly key: Key;
  readonly path: string;
  /** Fields of the answer that name their source. */
  readonly fields: Fields;
  readonly parse?: (text: string) => unknown;
  readonly missing: () => Fault;
  readonly tooLarge: (limit: number) => Fault;
};

type LoadedItems = {
  readonly items: readonly unknown[];
  readonly last: EntryHead;
  readonly bytes: number;
};

/** Loads and parses stored items; `room`: the most bytes. */
export async function loadItems(
  state: Pick<GatewayState, "store" | "steps" | "config">,
  { weigh }: { readonly weigh: Weigh },
  { key, path, parse, missing, tooLarge }: ItemSource,
  room: number,
): Promise<LoadedItems> {
  const found = await state.store.load(key, Math.max(0, room), weigh);
  if (found.type === "too-large") throw tooLarge(state.config.server.body_limit);
  if (found.type === "missing") throw missing();
  const { last, bytes, texts } = found;
  return { items: await parseItems(state, texts, path, parse), last, bytes };
}

/** Parses items, large lists in steps, and checks them against the limits of a request. */
async function parseItems(
  { steps, config }: Pick<GatewayState, "steps" | "config">,
  texts: readonly string[],
  path: string,
  parse: (text: string) => unknown = JSON.parse,
): Promise<readonly unknown[]> {
  const { counts } = config.server;
  const items: unknown[] = [];
  // The items of many requests may arrive together, so the first step also waits.
  const rest = steps.resting(texts.length > 1 || texts.some(isLong) ? Infinity : 0);
  let values = 0;
  for (const text of texts) {
    await rest();
    values += countValues(text);
    checkCount("values", values, counts, path);
    append(items, parsed(text, parse));
  }
  checkItems(items, counts, path);
  await rest();
  return items;
}

/** Parses the texts of rows. Throws a Fault for a damaged row. */
function parsed(text: string, parse: (text: string) => unknown): readonly unknown[] {
  try {
    return parse(`[${text}]`) as unknown[];
  } catch {
    throw new Fault(
      "store.unusable",
      "A stored item is damaged: it is not JSON. Delete its response or conversation, and send its items again.",
    );
  }
}
