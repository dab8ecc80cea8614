import { dialectNames, type Config } from "../../gateway/config.ts";
import { builtinDialects, plannedDialects } from "../../dialects/registry.ts";
import type { Problem } from "../../diagnostics/problem.ts";
import { isFields } from "../../json/json.ts";

const served: ReadonlySet<string> = new Set(
  dialectNames(builtinDialects).filter((name) => !plannedDialects.has(name)),
);

/**
 * What a configuration may name before it exists. An upstream whose dialect is
 * not served is left out, which is told.
 */
export function settleNotYet(config: Config): {
  readonly config: Config;
  readonly notes: readonly string[];
} {
  const named = Object.entries(config.upstreams);
  const upstreams = Object.fromEntries(named.filter(([, { dialect }]) => served.has(dialect)));
  const notes = named
    .filter(([, { dialect }]) => !served.has(dialect))
    .map(
      ([name, { dialect }]) =>
        `upstreams.${name}: the ${dialect} dialect is not served yet; it is left out.`,
    );
  const isHere = (place: string): boolean => Object.hasOwn(upstreams, upstreamIn(place));
  const models = Object.entries(config.models).map(([name, places]) => [
    name,
    places.filter(isHere),
  ]);
  return { config: { ...config, upstreams, models: Object.fromEntries(models) }, notes };
}

const upstreamIn = (place: string): string => place.slice(0, place.indexOf("/"));

const isLater = (dialect: unknown): boolean =>
  typeof dialect === "string" && plannedDialects.has(dialect);

/** Models that lead nowhere else. Looks at what is there, so that they are told with the rest. */
export function deadEnds(raw: unknown): Problem[] {
  if (!isFields(raw) || !isFields(raw.upstreams) || !isFields(raw.models)) return [];
  const later = new Set(
    Object.entries(raw.upstreams)
      .filter(([, upstream]) => isFields(upstream) && isLater(upstream.dialect))
      .map(([name]) => name),
  );
  const message = `leads only to upstreams of a dialect that is not served yet; use one of ${[...served].join(", ")}`;
  return Object.entries(raw.models).flatMap(([name, to]) => {
    const places = [to].flat();
    const isDead = (place: unknown): boolean =>
      typeof place === "string" && later.has(upstreamIn(place));
    return places.length > 0 && places.every(isDead) ? [{ path: ["models", name], message }] : [];
  });
}
