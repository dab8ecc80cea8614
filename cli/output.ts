import { printable } from "../src/terminal.ts";

/** Rows of cells as lines, each column as wide as its widest cell. */
export function aligned(rows: readonly (readonly string[])[], indent = "  "): string[] {
  const widths: number[] = [];
  const shown = rows.map((row) => row.map(printable));
  for (const row of shown)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return shown.map((row) =>
    `${indent}${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
}

/** Exit codes of commands that examine a gateway. */
export const exitCode = {
  well: 0,
  wrong: 1,
  misuse: 2,
  /** No gateway answers. */
  nobody: 3,
} as const;

export const noGatewayAt = (address: string): string =>
  `No gateway answers at ${address}. To start one: patchbay serve`;

/** A time in the local time zone, such as `2026-11-19 17:04:05 UTC`. */
export const dateText = (at: number): string =>
  new Date(at).toLocaleString("sv", { dateStyle: "short", timeStyle: "long" });

export const recordedTurns = { failures: "failed turns", all: "all turns" } as const;

export const plural = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? "" : "s"}`;

export function recordedLine(counts: {
  readonly written: number;
  readonly missed: number;
  readonly folder: string;
}): string {
  const { written, missed, folder } = counts;
  const rest = missed === 0 ? "" : `; ${missed} could not be written`;
  return `${plural(written, "turn")} recorded in ${folder}${rest}.`;
}

/** The problem of a Node that is too old; undefined for one that is not. `engines` is from the package, such as `>=24`. */
export function nodeProblem(running: string, engines: string): string | undefined {
  const least = Number(/\d+/.exec(engines)?.[0] ?? 0);
  if (Number.parseInt(running, 10) >= least) return undefined;
  return `Patchbay needs Node ${least} or newer, and this is ${running}; install a newer one, from https://nodejs.org for example.`;
}
