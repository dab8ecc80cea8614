import { nearestFew } from "../../diagnostics/nearest.ts";
import { isOwnModel } from "../../profiles/models.ts";
import { Fault } from "../../turn/fault.ts";
import { ownOf } from "../../json/json.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Config } from "../config.ts";
import { isListed, listedNames, listsLearned } from "../http/models.ts";
import { usersOf } from "../upstreams.ts";
import type { Users } from "../http/users.ts";

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
