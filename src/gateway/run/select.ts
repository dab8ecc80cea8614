import { nearestFew } from "../../diagnostics/nearest.ts";
import { isOwnModel, modelProfile, patternOf } from "../../profiles/models.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Config } from "../config.ts";
import { disclosureFor, type DisclosureSettings } from "../fold/settings.ts";
import type { GatewayState } from "../state.ts";
import { type Users, usersOf } from "../upstreams.ts";

/** Milliseconds for which a list of models is used, and for which a listing waits for one upstream. */
const FRESH_MS = 300_000;
const MAX_WAIT_MS = 5_000;

type ModelList = {
  readonly at: number;
  readonly names: Promise<readonly string[]>;
  /** The names that arrived last. */
  arrived?: ReadonlySet<string> | undefined;
  /** The upstream gave no list; the next listing asks again. */
  hasFailed?: boolean;
};
const lists = new WeakMap<Upstream, ModelList>();

export type ListedModel = { readonly id: string; readonly owner: string };

/**
 * Every name a client may ask for: the names under `models`, then `upstream/model` from the list
 * of each upstream. Many programs take the first name. The configured names of the embedded demo
 * come last; its own models are listed only if there is no other upstream.
 */
export async function listModels(
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<readonly ListedModel[]> {
  const all = [...upstreams.values()];
  const isDemo = ({ id }: ListedModel): boolean =>
    upstreams.get(config.models[id]?.[0]?.split("/")[0] ?? "")?.isDemo === true;
  const named = Object.keys(config.models)
    .filter((name) => !isPattern(name))
    .map((id) => ({ id, owner: "patchbay" }));
  const real = all.filter((upstream) => upstream.isDemo !== true);
  const listed = await Promise.all(
    (real.length > 0 ? real : all).map(async (upstream) => {
      const models = likeliestFirst(await ownModels(upstream, clock), upstream.profile);
      return models.map((model) => ({ id: `${upstream.name}/${model}`, owner: upstream.name }));
    }),
  );
  const demos = named.filter(isDemo);
  const others = named.filter((model) => !isDemo(model));
  return real.length > 0
    ? [...others, ...listed.flat(), ...demos]
    : [...others, ...demos, ...listed.flat()];
}

/** A model that a client may ask for: one of the list, or a name that a pattern or a place leads somewhere. */
export async function findModel(
  id: string,
  state: Models & Pick<GatewayState, "clock">,
): Promise<ListedModel | undefined> {
  const { config, upstreams, clock } = state;
  const models = await listModels(config, upstreams, clock);
  const listed = models.find((model) => model.id === id);
  return listed ?? (isConfigured(id, state) ? { id, owner: "patchbay" } : undefined);
}

/** The default model, the provider's own models, then others such as embeddings. */
function likeliestFirst(models: readonly string[], profile: Profile): readonly string[] {
  const { defaultModel } = profile;
  if (models.length === 0) return typeof defaultModel === "string" ? [defaultModel] : [];
  const rank = (model: string): number => {
    // Some lists put a folder before the name: `models/gemini-flash-latest`.
    const bare = model.slice(model.lastIndexOf("/") + 1);
    if (model === defaultModel || bare === defaultModel) return 0;
    return isOwnModel(profile, bare) ? 1 : 2;
  };
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/** Settles when every upstream was asked once for its list, or is late; undefined if all were asked. */
export function listsLearned(
  upstreams: ReadonlyMap<string, Upstream>,
  clock: Clock,
): Promise<unknown> | undefined {
  const waiting = [...upstreams.values()].filter((upstream) => {
    const known = lists.get(upstream);
    return known?.arrived === undefined && known?.hasFailed !== true;
  });
  if (waiting.length === 0) return undefined;
  return Promise.all(waiting.map((upstream) => ownModels(upstream, clock)));
}

/** The models that an upstream lists; if it does not answer, its previous list, so that others are listed. */
function ownModels(upstream: Upstream, clock: Clock): Promise<readonly string[]> {
  const now = clock.now();
  const known = lists.get(upstream);
  if (known !== undefined && known.hasFailed !== true && now - known.at < FRESH_MS)
    return inTime(known, clock);
  const asked = upstream.models?.() ?? Promise.resolve([]);
  const names = asked.then(
    (all) => {
      list.arrived = new Set(all);
      return all;
    },
    () => {
      list.hasFailed = true;
      return [...(known?.arrived ?? [])];
    },
  );
  const list: ModelList = { at: now, names, arrived: known?.arrived };
  lists.set(upstream, list);
  return inTime(list, clock);
}

/** The names, or none while the list is late; the upstream is not asked twice at once. */
const inTime = ({ at, names }: ModelList, clock: Clock): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const cancel = clock.at(at + MAX_WAIT_MS, () => resolve([]));
    void names.then((all) => {
      cancel();
      resolve(all);
    });
  });

/** One place where a model can be had. */
export type Link = {
  readonly upstream: Upstream;
  readonly model: string;
  /** Capabilities of the upstream with this model. */
  readonly profile: Profile;
  /** `upstream/model`: how configuration, headers and log write it. */
  readonly name: string;
  /** The name as a header may hold it. */
  readonly headerName: string;
  /** The provider that the profile names, or else the name of the upstream. */
  readonly provider: string;
  /** Counts the turns whose chain has a link to this upstream. */
  readonly users: Users;
};

export function linkOf(upstream: Upstream, model: string): Link {
  const name = `${upstream.name}/${model}`;
  return {
    upstream,
    model,
    profile: modelProfile(upstream.profile, model),
    name,
    headerName: headerText(name),
    provider: upstream.profile.provider ?? upstream.name,
    users: usersOf(upstream),
  };
}

/** A model's name may be the client's own words; a header takes only some characters, and not many. */
const headerText = (text: string): string =>
  /^[\x20-\x7e]{0,256}$/.test(text)
    ? text
    : text
        .slice(0, 256)
        .toWellFormed()
        .replaceAll(/[^\x20-\x7e]+/g, encodeURIComponent);

export type Chain = readonly [Link, ...Link[]];

/** The route of a model name in one configuration, shared by all turns that ask for it. */
export type ModelRoute = {
  readonly chain: Chain;
  readonly profiles: readonly Profile[];
  /** The profiles of the upstreams that may pause an answer. */
  readonly pausing: readonly Profile[];
  /** True if an upstream is worse off without the reasoning before the calls of a conversation. */
  readonly wantsThoughts: boolean;
  readonly disclosure: DisclosureSettings;
};

/** True for an upstream that refuses calls without the reasoning before them, or reads what it signed or sealed. */
export const wantsThoughts = ({ reasoning, history }: Profile): boolean =>
  history?.reasoningWithCalls !== undefined ||
  reasoning === "items" ||
  reasoning === "reasoning_details" ||
  reasoning === "signed_thinking" ||
  reasoning === "thinking";

type Models = Pick<GatewayState, "config" | "upstreams">;

/** Bounds on kept routes: clients choose the names where `"*"` leads anywhere. */
const MAX_ROUTES = 1000;
const MAX_NAME = 256;

/** The route of a model name, made once for each configuration unless the lists of upstreams decide it. */
export function routeFor(
  state: Models & Pick<GatewayState, "modelRoutes">,
  name: string,
): ModelRoute {
  const known = state.modelRoutes.get(name);
  if (known !== undefined) return known;
  const { config, upstreams, modelRoutes } = state;
  const chain = selectChain(name, config, upstreams);
  const profiles = chain.map(({ profile }) => profile);
  const route = {
    chain,
    profiles,
    pausing: profiles.filter(({ pauses = false }) => pauses !== false),
    wantsThoughts: profiles.some(wantsThoughts),
    disclosure: disclosureFor(config.tools.disclosure, name),
  };
  if (name.length > MAX_NAME || !isConfigured(name, state)) return route;
  if (modelRoutes.size >= MAX_ROUTES) modelRoutes.clear();
  modelRoutes.set(name, route);
  return route;
}

/**
 * The upstreams of a model name, best first: those of `models`; the upstream named before a
 * slash; those of the longest pattern that fits, such as `"gemini-*"` or `"*"`; if none fits, the
 * upstream that lists the model, or else one whose provider's models have such names.
 */
export function selectChain(
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): Chain {
  const places = ownOf(config.models, name) ?? unnamed(name, { config, upstreams });
  const [first, ...rest] = places.map((place) => linkTo(place, name, upstreams));
  if (first === undefined) throw unknownModel(name, config, upstreams);
  return [first, ...rest];
}

/** Settles when the lists of the upstreams have arrived; undefined if they are not needed for this name. */
export function listsFor(
  name: unknown,
  state: Models & Pick<GatewayState, "clock" | "modelRoutes">,
): Promise<unknown> | undefined {
  if (typeof name !== "string" || name === "" || state.modelRoutes.has(name)) return undefined;
  if (isConfigured(name, state)) return undefined;
  return listsLearned(state.upstreams, state.clock);
}

/** True if the configuration alone decides where a name leads. */
const isConfigured = (name: string, { config: { models }, upstreams }: Models): boolean =>
  Object.hasOwn(models, name) || isDirect(name, upstreams) || fitting(name, models) !== undefined;

const isPattern = (name: string): boolean => name.includes("*");

/** The patterns under `models`, the most specific first. */
const patternsOf = memoizeByIdentity((models: Config["models"]) =>
  Object.entries(models)
    .filter(([name]) => isPattern(name))
    .toSorted(([one], [other]) => other.length - one.length)
    .map(([name, places]) => ({ pattern: patternOf(name), places })),
);

/** The places of the most specific pattern that fits a name. */
const fitting = (name: string, models: Config["models"]): readonly string[] | undefined =>
  patternsOf(models).find(({ pattern }) => pattern.test(name))?.places;

function unnamed(name: string, { config, upstreams }: Models): readonly string[] {
  if (isDirect(name, upstreams)) return [name];
  const named = fitting(name, config.models);
  if (named !== undefined) return named;
  const all = [...upstreams.values()];
  const owner =
    all.find((upstream) => lists.get(upstream)?.arrived?.has(name) === true) ??
    all.find(({ profile }) => isOwnModel(profile, name));
  return owner === undefined ? [] : [`${owner.name}/${name}`];
}

function isDirect(name: string, upstreams: ReadonlyMap<string, Upstream>): boolean {
  const slash = name.indexOf("/");
  return slash !== -1 && slash < name.length - 1 && upstreams.has(name.slice(0, slash));
}

/** `upstream/model`; the model `*` stands for the name the client asked for. */
function linkTo(place: string, asked: string, upstreams: ReadonlyMap<string, Upstream>): Link {
  const slash = place.indexOf("/");
  const upstream = upstreams.get(place.slice(0, slash));
  const model = place.slice(slash + 1);
  if (upstream !== undefined) return linkOf(upstream, model === "*" ? asked : model);
  throw new Fault(
    "model.unknown",
    `\`${asked}\` leads to \`${place}\`, and there is no such upstream. Add it under \`upstreams\`, or change \`models\`.`,
    { param: "model" },
  );
}

function unknownModel(
  name: string,
  config: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): Fault {
  const names = Object.keys(config.models).filter((model) => !isPattern(model));
  const listed = [...upstreams.values()].flatMap((upstream) =>
    [...(lists.get(upstream)?.arrived ?? [])].map((model) => `${upstream.name}/${model}`),
  );
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
