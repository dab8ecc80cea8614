import { isFields } from "../../turn/json.ts";
import type { BuiltinTemplate } from "../../turn/profile.ts";
import type { Fields } from "../../turn/turn.ts";

/** A built-in tool in an upstream's own form, and what of the client's did not fit. */
export type Filled = {
  readonly raw: Fields;
  readonly losses: readonly string[];
  /** The fields of the client's that the form has a place for. */
  readonly used: ReadonlySet<string>;
};

/** Fills an upstream's form of a built-in tool with what the client asked for. */
export function fillTemplate(template: BuiltinTemplate, asked: Fields): Filled {
  const losses: string[] = [];
  const used = new Set<string>();
  const fill = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fill).filter((one) => one !== undefined);
    if (!isFields(value)) return value;
    if (typeof value.$from === "string") return take(value.$from, value);
    const entries = Object.entries(value).map(([key, inner]) => [key, fill(inner)] as const);
    const filled = entries.filter(([, inner]) => inner !== undefined);
    // A group for which the client said nothing is left out with what would stand in it.
    return entries.length > 0 && filled.length === 0 ? undefined : Object.fromEntries(filled);
  };
  const take = (path: string, { map, else: otherwise }: Fields): unknown => {
    used.add(path.split(".")[0] ?? path);
    const found = reach(asked, path, losses);
    if (found === undefined) return otherwise;
    return isFields(map)
      ? (map[typeof found === "string" ? found : JSON.stringify(found)] ?? otherwise)
      : found;
  };
  return { raw: (fill(template) ?? {}) as Fields, losses, used };
}

function reach(asked: Fields, path: string, losses: string[]): unknown {
  let at: unknown = asked;
  for (const step of path.split(".")) {
    if (Array.isArray(at) && at.length > Number(step) + 1)
      losses.push(`only one of ${at.length} in \`${path.slice(0, path.lastIndexOf("."))}\` fits`);
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  }
  return at ?? undefined;
}
