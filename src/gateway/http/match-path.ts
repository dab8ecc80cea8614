import type { PathParams } from "../../dialects/dialect.ts";

type Pattern = { readonly shape: RegExp; readonly names: readonly string[] };

/** One for each route there is. */
const patterns = new Map<string, Pattern>();

/**
 * What the names in a pattern stand for in a path; undefined if it is another
 * path. `{model}` takes one character or more, slashes included, and a `*` at
 * the end the rest, as it is.
 */
export function matchPath(pattern: string, path: string): PathParams | undefined {
  if (!/[{*]/.test(pattern)) return pattern === path ? {} : undefined;
  let known = patterns.get(pattern);
  if (known === undefined) patterns.set(pattern, (known = compile(pattern)));
  const [, ...values] = known.shape.exec(path) ?? [];
  if (values.length === 0) return undefined;
  return Object.fromEntries(
    known.names.map((name, at) => [name, name === "*" ? values[at] : decoded(values[at] ?? "")]),
  ) as PathParams;
}

function compile(pattern: string): Pattern {
  const names: string[] = [];
  const shape = pattern
    .split(/(\{\w+\}|\*$)/)
    .map((piece, at) => {
      if (at % 2 === 0) return piece.replaceAll(/[^\w/]/g, "\\$&");
      names.push(piece.replaceAll(/[{}]/g, ""));
      return "(.+)";
    })
    .join("");
  return { shape: new RegExp(`^${shape}$`, "s"), names };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Whoever reads it finds that it is no name of anything.
  }
}
