/** The checks of `patchbay doctor`: how one is made, how several are ordered, and how messages become checks. */

import {
  groups,
  outcomes,
  type Check,
  type CheckOutcome,
} from "../../src/observe/console/wire-checks.ts";
import type { Fault } from "../../src/terminal.ts";

/** The groups by the first word of the ids of their checks. */
const groupOf = {
  gateway: "gateway",
  configuration: "configuration",
  upstream: "upstreams",
  model: "models",
  probe: "models",
  agent: "agents",
  machine: "machine",
} as const satisfies Record<string, Check["group"]>;

/** The outcome of a check, its evidence and its remedy; without a remedy there is nothing to do. */
export type Words = readonly [CheckOutcome, evidence: string, remedy?: string | undefined];

export type CheckId = `${keyof typeof groupOf}.${string}`;

export function check(id: CheckId, subject: string, ...words: Words): Check {
  const [outcome, evidence, remedy] = words;
  const word = id.slice(0, id.indexOf(".")) as keyof typeof groupOf;
  return { group: groupOf[word], id, subject, outcome, evidence, remedy };
}

/** The worst first, and among equals in the order of the groups. */
export const problemsFirst = (checks: readonly Check[]): readonly Check[] =>
  checks.toSorted(
    (a, b) =>
      outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome) ||
      groups.indexOf(a.group) - groups.indexOf(b.group),
  );

export function countOutcomes(checks: readonly Check[]): Readonly<Record<CheckOutcome, number>> {
  const counts = { wrong: 0, unknown: 0, note: 0, ok: 0 };
  for (const { outcome } of checks) counts[outcome]++;
  return counts;
}

type Message = readonly [evidence: string, remedy: string];

/** The evidence and the remedy in a message of two sentences. */
export function wordsOfFault({ message }: Pick<Fault, "message">): Message {
  const [, evidence = message, remedy = "Try again, and read the log of the gateway."] =
    /^(.*?[.)!?])\s+(?=[A-Z])(.*)$/s.exec(message) ?? [];
  return [evidence.replace(/\.$/, ""), remedy];
}

/** The evidence and the remedy in a message of the form "evidence; remedy". */
export function wordsOfFinding(line: string): Message {
  const at = line.lastIndexOf("; ");
  if (at === -1) return [line, "Correct it."];
  const remedy = line.slice(at + 2);
  const sentence = remedy.charAt(0).toUpperCase() + remedy.slice(1);
  return [line.slice(0, at), /[.!?]$/.test(sentence) ? sentence : `${sentence}.`];
}
