export const turns = (count: number): string => `${count} ${count === 1 ? "turn" : "turns"}`;

/** How many turns were recorded, in one line for people. */
export function recordedLine(counts: {
  readonly written: number;
  readonly missed: number;
  readonly folder: string;
}): string {
  const { written, missed, folder } = counts;
  const rest = missed === 0 ? "" : `; ${missed} could not be written`;
  return `${turns(written)} recorded in ${folder}${rest}.`;
}
