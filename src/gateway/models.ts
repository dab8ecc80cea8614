import type { Clock } from "../turn/clock.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { Config } from "./config.ts";

/** How long an upstream's own list is believed. */
const FRESH_MS = 300_000;
/** How long it may take; then others are listed without it. */
const PATIENCE_MS = 5_000;

type Listed = {
  readonly at: number;
  readonly names: Promise<readonly string[]>;
  /** Set when they have arrived. */
  arrived?: ReadonlySet<string>;
};
const lists = new WeakMap<Upstream, Listed>();

/** True if the upstream was asked for its list and the list has this model. */
export const isListed = (upstream: Upstream, model: string): boolean =>
  lists.get(upstream)?.arrived?.has(model) === true;

/** The models that an upstream listed, as `upstream/model`. */
export const listedNames = (upstream: Upstream): readonly string[] =>
  [...(lists.get(upstream)?.arrived ?? [])].map((model) => `${upstream.name}/${model}`);

export type ListedModel = { readonly id: string; readonly owner: string };

/**
 * Every name a client may ask for: ours first, then `upstream/model` as upstreams
 * list their own. Those of the embedded demo come last, since many programs take
 * the first.
 */
export async function listModels(
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<readonly ListedModel[]> {
  const isDemo = (name: string): boolean =>
    upstreams.get(config.models[name]?.[0]?.split("/")[0] ?? "")?.isDemo === true;
  const named = Object.keys(config.models)
    .filter((name) => name !== "*")
    .map((id) => ({ id, owner: "patchbay", isDemo: isDemo(id) }));
  const listed = await Promise.all(
    [...upstreams.values()].map(async (upstream) =>
      (await ownModels(upstream, clock)).map((model) => ({
        id: `${upstream.name}/${model}`,
        owner: upstream.name,
        isDemo: upstream.isDemo === true,
      })),
    ),
  );
  const all = [...named, ...listed.flat()];
  return [...all.filter((one) => !one.isDemo), ...all.filter((one) => one.isDemo)];
}

/** An upstream that does not answer lists nothing; that must not hide the others. */
function ownModels(upstream: Upstream, clock: Clock): Promise<readonly string[]> {
  const now = clock.now();
  const known = lists.get(upstream);
  if (known !== undefined && now - known.at < FRESH_MS) return inTime(known, clock);
  const names = (upstream.models?.() ?? Promise.resolve([])).catch(() => {
    lists.delete(upstream);
    return [];
  });
  const listed: Listed = { at: now, names };
  lists.set(upstream, listed);
  void names.then((all) => (listed.arrived = new Set(all)));
  return inTime(listed, clock);
}

/** What it lists, or nothing as long as it is late: it is not asked again meanwhile. */
const inTime = ({ at, names }: Listed, clock: Clock): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const callOff = clock.at(at + PATIENCE_MS, () => resolve([]));
    void names.then((all) => {
      callOff();
      resolve(all);
    });
  });
