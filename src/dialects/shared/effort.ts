/** Efforts of reasoning, from the least to the most. */
const scale = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/** True for a known effort above another one. */
export const isAbove = (effort: string, other: string): boolean =>
  scale.indexOf(effort) > scale.indexOf(other);

/** The effort that a budget of tokens stands for. */
export const effortOf = (budget: number): string =>
  budget < 4_096 ? "low" : budget < 16_384 ? "medium" : "high";

/** The highest of a model's efforts that is not above the one asked for, or the lowest of all. */
export function nearestEffort(effort: string, efforts: readonly string[]): string | undefined {
  if (efforts.includes(effort)) return effort;
  return efforts.findLast((one) => !isAbove(one, effort)) ?? efforts[0];
}
