import { printable } from "../src/host/platform/print.ts";

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
