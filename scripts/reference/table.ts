/** A Markdown table. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("\n", " ")).join(" | ")} |`)
    .join("\n");

export const code = (text: string): string => `\`${text}\``;

/**
 * Pairs names that the code knows with their descriptions. Fails if a name has no description,
 * or if a description has no name, so that a page is never incomplete.
 */
export function described(
  what: string,
  names: readonly string[],
  descriptions: Readonly<Record<string, string>>,
): readonly (readonly [name: string, description: string])[] {
  const missing = names.filter((name) => !Object.hasOwn(descriptions, name));
  const unknown = Object.keys(descriptions).filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`${what} without a description: ${missing.join(", ")}`);
  if (unknown.length > 0) throw new Error(`Descriptions of no ${what}: ${unknown.join(", ")}`);
  return names.map((name) => [name, descriptions[name] ?? ""]);
}
