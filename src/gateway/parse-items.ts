import { append } from "../turn/append.ts";
import { resting, type Clock } from "../turn/clock.ts";

/** Parses stored items, and has others served in between. */
export async function parseItems(
  clock: Clock,
  texts: readonly string[],
  parse: (text: string) => unknown = JSON.parse,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  const rest = resting(clock);
  for (const text of texts) {
    append(items, parse(`[${text}]`) as unknown[]);
    await rest();
  }
  return items;
}
