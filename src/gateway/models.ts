import type { Clock } from "../turn/clock.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { Config } from "./config.ts";

/** How long an upstream's own list is believed. */
const FRESH_MS = 300_000;
/** How long it may take; then others are listed without it. */
const PATIENCE_MS = 5_000;

type Listed = { readonly at: number; readonly names: Promise<readonly string[]> };
const lists = new WeakMap<Upstream, Listed>();

export type ListedModel = { readonly id: string; readonly owner: string };

/** Every name a client may ask for: ours first, then `upstream/model` as upstreams list their own. */
export async function listModels(
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<readonly ListedModel[]> {
  const named = Object.keys(config.models)
    .filter((name) => name !== "*")
    .map((id) => ({ id, owner: "patchbay" }));
  const listed = await Promise.all(
    [...upstreams.values()].map(async (upstream) =>
      (await ownModels(upstream, clock)).map((model) => ({
        id: `${upstream.name}/${model}`,
        owner: upstream.name,
      })),
    ),
  );
  return [...named, ...listed.flat()];
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
  const listed = { at: now, names };
  lists.set(upstream, listed);
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
