import type { Happening, Report } from "../../../telemetry/happening.ts";
import { addUsage, type Usage } from "../../../turn/event.ts";

export type TurnCount = {
  readonly turns: number;
  readonly calls: number;
  /** As upstreams counted; none where none did. */
  readonly usage: Usage | undefined;
  /** How often each fault was, refusals and failed turns alike. */
  readonly faults: Readonly<Record<string, number>>;
};

/** Adds up what an agent did at a gateway. */
export function countTurns(): { readonly report: Report; readonly count: () => TurnCount } {
  let turns = 0;
  let calls = 0;
  let usage: Usage | undefined;
  const faults: Record<string, number> = {};
  const report = (happening: Happening): void => {
    if (happening.type !== "turn" && happening.type !== "refusal") return;
    const { fault } = happening;
    if (fault !== undefined) faults[fault] = (faults[fault] ?? 0) + 1;
    if (happening.type === "refusal") return;
    turns++;
    calls += happening.calls.given;
    if (happening.usage === undefined) return;
    usage = usage === undefined ? happening.usage : addUsage(usage, happening.usage);
  };
  return { report, count: () => ({ turns, calls, usage, faults }) };
}

const plural = (count: number, word: string): string =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** What was done, in one line. */
export function countLine({ turns, calls, usage, faults }: TurnCount): string {
  const words = [plural(turns, "turn"), plural(calls, "tool call")];
  if (usage !== undefined)
    words.push(`${plural(usage.input, "token")} in, ${usage.output.toLocaleString("en")} out`);
  for (const [fault, count] of Object.entries(faults)) words.push(`${count}x ${fault}`);
  return words.join(", ");
}
