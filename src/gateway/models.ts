import type { Upstream } from "../upstreams/upstream.ts";
import type { Config } from "./config.ts";

/** How long an upstream's own list is believed. */
const FRESH_MS = 300_000;

type Listed = { readonly at: number; readonly names: Promise<readonly string[]> };
const lists = new WeakMap<Upstream, Listed>();

/** Every name a client may ask for: ours first, then `upstream/model` as upstreams list their own. */
export async function listModels(
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
  now: number,
): Promise<readonly { readonly id: string; readonly owner: string }[]> {
  const named = Object.keys(config.models)
    .filter((name) => name !== "*")
    .map((id) => ({ id, owner: "patchbay" }));
  const listed = await Promise.all(
    [...upstreams.values()].map(async (upstream) =>
      (await ownModels(upstream, now)).map((model) => ({
        id: `${upstream.name}/${model}`,
        owner: upstream.name,
      })),
    ),
  );
  return [...named, ...listed.flat()];
}

/** An upstream that does not answer lists nothing; that must not hide the others. */
function ownModels(upstream: Upstream, now: number): Promise<readonly string[]> {
  const known = lists.get(upstream);
  if (known !== undefined && now - known.at < FRESH_MS) return known.names;
  const names = (upstream.models?.() ?? Promise.resolve([])).catch(() => {
    lists.delete(upstream);
    return [];
  });
  lists.set(upstream, { at: now, names });
  return names;
}
