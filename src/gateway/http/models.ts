import { isOwnModel } from "../../profiles/models.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Config } from "../config.ts";

/** How long an upstream's own list is believed. */
const FRESH_MS = 300_000;
/** How long it may take; then others are listed without it. */
const PATIENCE_MS = 5_000;

type Listed = {
  readonly at: number;
  readonly names: Promise<readonly string[]>;
  /** The names that arrived last. */
  arrived?: ReadonlySet<string> | undefined;
  /** It was not answered, and is asked again by the next listing. */
  hasFailed?: boolean;
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
 * list their own. Many programs take the first: models that an upstream is known
 * for come before its others, and the embedded demo is listed last under the names
 * that `models` gives it, and by itself only if there is no other upstream.
 */
export async function listModels(
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<readonly ListedModel[]> {
  const all = [...upstreams.values()];
  const isDemo = (name: string): boolean =>
    upstreams.get(config.models[name]?.[0]?.split("/")[0] ?? "")?.isDemo === true;
  const named = Object.keys(config.models).filter((name) => name !== "*");
  const ours = (names: readonly string[]): ListedModel[] =>
    names.map((id) => ({ id, owner: "patchbay" }));
  const models = all.filter((upstream) => upstream.isDemo !== true);
  const listed = await Promise.all(
    (models.length > 0 ? models : all).map(async (upstream) =>
      likeliestFirst(await ownModels(upstream, clock), upstream.profile).map((model) => ({
        id: `${upstream.name}/${model}`,
        owner: upstream.name,
      })),
    ),
  );
  const demos = named.filter(isDemo);
  const others = ours(named.filter((name) => !isDemo(name)));
  return models.length > 0
    ? [...others, ...listed.flat(), ...ours(demos)]
    : [...others, ...ours(demos), ...listed.flat()];
}

/** The default model, the provider's own, then others such as embeddings; the default alone where none is listed. */
function likeliestFirst(models: readonly string[], profile: Profile): readonly string[] {
  const { defaultModel } = profile;
  if (models.length === 0) return typeof defaultModel === "string" ? [defaultModel] : [];
  const rank = (model: string): number => {
    if (model === defaultModel || bareName(model) === defaultModel) return 0;
    return isOwnModel(profile, bareName(model)) ? 1 : 2;
  };
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/** Some lists put a folder before the name: `models/gemini-flash-latest`. */
const bareName = (model: string): string => model.slice(model.lastIndexOf("/") + 1);

/**
 * Settles when every upstream has been asked once for its list, or is late.
 * Undefined: all of them have been.
 */
export function listsLearned(
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<unknown> | undefined {
  const waiting = [...upstreams.values()].filter((upstream) => !isLearned(upstream));
  return waiting.length === 0
    ? undefined
    : Promise.all(waiting.map((upstream) => ownModels(upstream, clock)));
}

function isLearned(upstream: Upstream): boolean {
  const known = lists.get(upstream);
  return known?.arrived !== undefined || known?.hasFailed === true;
}

/** An upstream that does not answer lists what it listed before; that must not hide the others. */
function ownModels(upstream: Upstream, clock: Clock): Promise<readonly string[]> {
  const now = clock.now();
  const known = lists.get(upstream);
  if (known !== undefined && known.hasFailed !== true && now - known.at < FRESH_MS)
    return inTime(known, clock);
  const asked = upstream.models?.() ?? Promise.resolve([]);
  const names = asked.then(
    (all) => {
      listed.arrived = new Set(all);
      return all;
    },
    () => {
      listed.hasFailed = true;
      return [...(known?.arrived ?? [])];
    },
  );
  const listed: Listed = { at: now, names, arrived: known?.arrived };
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
