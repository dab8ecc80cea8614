/** Orders and counts checks, and takes their words from messages. */

import {
  groups,
  outcomes,
  type Check,
  type Outcome,
} from "../../src/observe/console/wire-checks.ts";
import type { Fault } from "../../src/terminal.ts";

/** The worst first, and among equals in the order of the groups. */
export const problemsFirst = (checks: readonly Check[]): readonly Check[] =>
  checks.toSorted(
    (a, b) =>
      outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome) ||
      groups.indexOf(a.group) - groups.indexOf(b.group),
  );

export function countOutcomes(checks: readonly Check[]): Readonly<Record<Outcome, number>> {
  const counts = { wrong: 0, unknown: 0, note: 0, ok: 0 };
  for (const { outcome } of checks) counts[outcome]++;
  return counts;
}

type Words = { readonly evidence: string; readonly remedy: string };

/** A message of the form "What is wrong. What to do." */
export function wordsOfFault({ message }: Pick<Fault, "message">): Words {
  const [, evidence = message, remedy = "Try again, and see the gateway's log."] =
    /^(.*?[.)!?])\s+(?=[A-Z])(.*)$/s.exec(message) ?? [];
  return { evidence: evidence.replace(/\.$/, ""), remedy };
}

/** A message of the form "what is wrong; what to do". */
export function wordsOfFinding(line: string): Words {
  const at = line.lastIndexOf("; ");
  if (at === -1) return { evidence: line, remedy: "Correct it there." };
  const remedy = line.slice(at + 2);
  const sentence = remedy.charAt(0).toUpperCase() + remedy.slice(1);
  return {
    evidence: line.slice(0, at),
    remedy: /[.!?]$/.test(sentence) ? sentence : `${sentence}.`,
  };
}
