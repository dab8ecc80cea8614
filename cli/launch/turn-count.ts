import type { Batch } from "../../src/observe/console/wire.ts";

export type TurnCount = {
  readonly turns: number;
  readonly calls: number;
  /** Tokens as upstreams counted; none where none did. */
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  /** What the turns cost whose prices are known; none where no price is. */
  readonly cost: number | undefined;
  /** How often each fault was, refusals and failed turns alike. */
  readonly faults: Readonly<Record<string, number>>;
};

/** Adds up what an agent did at a gateway. */
export function countTurns({ turns: rows, lost }: Pick<Batch, "turns" | "lost">): TurnCount {
  let turns = lost;
  let calls = 0;
  let usage: { input: number; output: number } | undefined;
  let cost: number | undefined;
  const faults: Record<string, number> = {};
  for (const row of rows) {
    if (row.fault !== undefined) faults[row.fault] = (faults[row.fault] ?? 0) + 1;
    if (row.type === "refusal") continue;
    turns++;
    calls += row.calls.given;
    if (row.cost !== undefined) cost = (cost ?? 0) + row.cost;
    if (row.usage === undefined) continue;
    usage ??= { input: 0, output: 0 };
    usage.input += row.usage.input;
    usage.output += row.usage.output;
  }
  return { turns, calls, usage, cost, faults };
}

const plural = (count: number, word: string): string =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** What was done, in one line. */
export function countLine({ turns, calls, usage, cost, faults }: TurnCount): string {
  const words = [plural(turns, "turn"), plural(calls, "tool call")];
  if (usage !== undefined)
    words.push(`${plural(usage.input, "token")} in, ${usage.output.toLocaleString("en")} out`);
  if (cost !== undefined) words.push(`$${cost.toFixed(4)}`);
  for (const [fault, count] of Object.entries(faults)) words.push(`${count}x ${fault}`);
  return words.join(", ");
}
