import type { Check, Section } from "./part.ts";
import type { Spread } from "./figures.ts";

/** Cells by row; the first column is read from the left, the others from the right. */
export type Table = {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export function printSection(section: Section): void {
  console.log(`\n${section.title}\n\n${draw(section.table)}`);
}

export function printChecks(checks: readonly Check[]): void {
  const rows = checks.map(({ verdict, what, target, measured }) => [
    `${verdict}  ${what}`,
    target,
    measured,
  ]);
  console.log(`\nTargets\n\n${draw({ head: ["", "target", "measured"], rows })}`);
}

/** `120 (115-131)`: the median and the least and most of the rounds. */
export function showSpread({ median, low, high }: Spread, digits = 0): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;
}

export function showRatio(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio.toFixed(1)}x` : "-";
}

/** Within the limit, beyond it, or not measured at all. */
export function verdict(measured: number, met: boolean): Check["verdict"] {
  if (!Number.isFinite(measured)) return "SKIP";
  return met ? "PASS" : "MISS";
}

function draw({ head, rows }: Table): string {
  const lines = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const drawn = lines.map((line) =>
    widths
      .map((width, at) => {
        const cell = line[at] ?? "";
        return at === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd(),
  );
  return drawn.map((line) => `  ${line}`).join("\n");
}
