import { nearestFew } from "../../diagnostics/nearest.ts";
import { isOwnModel } from "../../profiles/models.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Config } from "../config.ts";
import { type Users, usersOf } from "../upstreams.ts";

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
const isListed = (upstream: Upstream, model: string): boolean =>
  lists.get(upstream)?.arrived?.has(model) === true;

/** The models that an upstream listed, as `upstream/model`. */
const listedNames = (upstream: Upstream): readonly string[] =>
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

/** One place where a model can be had. */
export type Link = {
  readonly upstream: Upstream;
  readonly model: string;
  /** `upstream/model`: how it is written in the configuration, in headers and in the log. */
  readonly name: string;
  /** Counts the turns whose chain has a link to this upstream. */
  readonly users: Users;
};

export const linkOf = (upstream: Upstream, model: string): Link => ({
  upstream,
  model,
  name: `${upstream.name}/${model}`,
  users: usersOf(upstream),
});

/** Whose service it is; where nobody has said, the upstream's own name will do. */
export const providerOf = ({ upstream }: Link): string =>
  upstream.profile.provider ?? upstream.name;

export type Chain = readonly [Link, ...Link[]];

type NamedChains = { readonly config: Config; readonly chains: Map<string, Chain> };

/** The chains of the names under `models`: made once for as long as a configuration stands. */
const namedChains = new WeakMap<ReadonlyMap<string, Upstream>, NamedChains>();

/**
 * Where a model of this name is to be had, best first: as `models` says; at the
 * upstream that is named before a slash; wherever `"*"` leads; without a `"*"`,
 * at the upstream that lists the model, or else at one whose provider's models
 * have such names.
 */
export function selectChain(
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): Chain {
  const places = named(config, name);
  if (places === undefined)
    return chainOf(unnamed(name, config, upstreams), name, config, upstreams);
  let made = namedChains.get(upstreams);
  if (made?.config !== config) namedChains.set(upstreams, (made = { config, chains: new Map() }));
  let chain = made.chains.get(name);
  if (chain === undefined)
    made.chains.set(name, (chain = chainOf(places, name, config, upstreams)));
  return chain;
}

/**
 * Settles when the lists of the upstreams are there, if they decide where a model
 * name leads. Undefined: they do not, or are there.
 */
export function listsFor(
  name: unknown,
  { config, upstreams, clock }: State & { readonly clock: Clock },
): Promise<unknown> | undefined {
  if (typeof name !== "string" || name === "" || isDirect(name, upstreams)) return undefined;
  const isNamed = named(config, name) !== undefined || named(config, "*") !== undefined;
  return isNamed ? undefined : listsLearned(upstreams, clock);
}

type State = { readonly config: Config; readonly upstreams: ReadonlyMap<string, Upstream> };

function chainOf(
  places: readonly string[] | undefined,
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): Chain {
  if (places === undefined) throw unknownModel(name, config, upstreams);
  const [first, ...rest] = places.map((place) => linkTo(place, name, upstreams));
  if (first === undefined) throw unknownModel(name, config, upstreams);
  return [first, ...rest];
}

function unnamed(
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): readonly string[] | undefined {
  if (isDirect(name, upstreams)) return [name];
  const rest = named(config, "*");
  if (rest !== undefined) return rest;
  const all = [...upstreams.values()];
  const owner =
    all.find((upstream) => isListed(upstream, name)) ??
    all.find(({ profile }) => isOwnModel(profile, name));
  return owner === undefined ? undefined : [`${owner.name}/${name}`];
}

const named = ({ models }: Config, name: string): readonly string[] | undefined =>
  ownOf(models, name);

function isDirect(name: string, upstreams: ReadonlyMap<string, Upstream>): boolean {
  const slash = name.indexOf("/");
  return slash !== -1 && slash < name.length - 1 && upstreams.has(name.slice(0, slash));
}

/** `upstream/model`; the model `*` stands for the name the client asked for. */
function linkTo(place: string, asked: string, upstreams: ReadonlyMap<string, Upstream>): Link {
  const slash = place.indexOf("/");
  const upstream = upstreams.get(place.slice(0, slash));
  const model = place.slice(slash + 1);
  if (upstream === undefined)
    throw new Fault(
      "model.unknown",
      `\`${asked}\` leads to \`${place}\`, and there is no such upstream. Add it under \`upstreams\`, or change \`models\`.`,
      {
        param: "model",
      },
    );
  return linkOf(upstream, model === "*" ? asked : model);
}

function unknownModel(
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): Fault {
  const names = Object.keys(config.models).filter((model) => model !== "*");
  const listed = [...upstreams.values()].flatMap(listedNames);
  const bare = listed.map((model) => model.slice(model.indexOf("/") + 1));
  const places = name.includes("/") ? listed : [];
  const near = nearestFew(name.slice(0, 200), [...new Set([...names, ...bare, ...places])]);
  const meant = near.map((one) => `\`${one}\``).join(" or ");
  const known = [...names, ...[...upstreams.keys()].map((upstream) => `${upstream}/<model>`)];
  return new Fault(
    "model.unknown",
    `There is no model \`${name.slice(0, 200)}\` here.${meant === "" ? "" : ` Did you mean ${meant}?`} Known: ${known.join(", ")}. Add it under \`models\`, or set \`"*"\` there to answer for every name.`,
    { param: "model" },
  );
}
