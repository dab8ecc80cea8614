import { parseConfig, type Config } from "../gateway/config.ts";
import { dialects } from "../gateway/dialects.ts";
import type { Problem } from "../gateway/problems.ts";

const served: ReadonlySet<string> = new Set([...Object.keys(dialects), "codex", "scripted"]);

/**
 * What a configuration may name before it exists. An upstream whose dialect is
 * not served is left out, which is told, and a model that leads nowhere else is
 * a problem.
 */
export function settleNotYet(config: Config): {
  readonly config: Config;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
} {
  const upstreams: Config["upstreams"] = {};
  const notes: string[] = [];
  for (const [name, upstream] of Object.entries(config.upstreams)) {
    const { dialect } = upstream;
    if (served.has(dialect)) upstreams[name] = upstream;
    else notes.push(`upstreams.${name}: the ${dialect} dialect is not served yet; it is left out.`);
  }
  const gone = (place: string): boolean =>
    !Object.hasOwn(upstreams, place.slice(0, place.indexOf("/")));
  const models: Config["models"] = {};
  const problems: Problem[] = [];
  for (const [name, places] of Object.entries(config.models)) {
    models[name] = places.filter((place) => !gone(place));
    if (models[name].length === 0)
      problems.push({
        path: ["models", name],
        message: `leads only to upstreams of a dialect that is not served yet; use one of ${[...served].join(", ")}`,
      });
  }
  for (const path of unfollowed(config))
    notes.push(`${path} is not followed yet; it is as if it were left out.`);
  return { config: { ...config, upstreams, models }, notes, problems };
}

/** Settings that somebody made, and that nothing asks for. */
function unfollowed({ tools, store }: Config): string[] {
  const usual = parseConfig({});
  const isUsual =
    tools.disclosure === usual.tools.disclosure || ["off", "eager"].includes(tools.disclosure);
  return [
    ...(isUsual ? [] : ["tools.disclosure"]),
    ...(store.kind === usual.store.kind ? [] : ["store.kind"]),
  ];
}
