import { memoizeByIdentity } from "../turn/memoize.ts";
import type { Difference, Profile } from "../turn/profile.ts";
import { extendProfile } from "./extend.ts";

/** The most names of models that one profile remembers; clients may invent names. */
const MOST = 1024;
/** The most characters of a model's name: matching takes time. */
const LONGEST = 256;

/** A test of model names. */
export type Pattern = { readonly test: (model: string) => boolean };

type Entry = { readonly match: Pattern; readonly difference: Difference };

type Known = {
  readonly entries: readonly Entry[];
  readonly byModel: Map<string, Profile>;
  /** By the entries that apply. */
  readonly made: Map<string, Profile>;
};

/**
 * The profile of a model. The same profile and model always give the same object, so that results
 * can be kept by its identity.
 */
export function modelProfile(profile: Profile, model: string): Profile {
  if (profile.models === undefined || model.length > LONGEST) return profile;
  const known = learn(profile);
  let found = known.byModel.get(model);
  if (found === undefined) {
    found = make(profile, known, model);
    if (known.byModel.size >= MOST) known.byModel.clear();
    known.byModel.set(model, found);
  }
  return found;
}

/** True if a model of this name is one of the provider's own. */
export const isOwnModel = ({ families }: Pick<Profile, "families">, model: string): boolean =>
  families !== undefined && model.length <= LONGEST && familyPattern(families).test(model);

const familyPattern = memoizeByIdentity((families: readonly string[]) => patternOf(families));

const learn = memoizeByIdentity(({ models = [] }: Profile): Known => ({
  entries: models.map(({ match, ...difference }) => ({ match: patternOf(match), difference })),
  byModel: new Map(),
  made: new Map(),
}));

function make(profile: Profile, { entries, made }: Known, model: string): Profile {
  const fitting = entries.filter(({ match }) => match.test(model));
  if (fitting.length === 0) return profile;
  const key = fitting.map((entry) => entries.indexOf(entry)).join();
  let found = made.get(key);
  if (found === undefined) {
    const alike: Profile = { ...profile, models: undefined };
    found = fitting.reduce((so, { difference }) => extendProfile(so, difference), alike);
    made.set(key, found);
  }
  return found;
}

/** `*` matches any text; upper and lower case are the same. */
export function patternOf(match: string | readonly string[]): Pattern {
  const globs = [match].flat().map((glob) => glob.toLowerCase().split("*"));
  return { test: (model) => globs.some((parts) => fits(model.toLowerCase(), parts)) };
}

// No regular expression: one with many `.*` takes minutes for a name that nearly fits.
function fits(model: string, [first = "", ...rest]: readonly string[]): boolean {
  const last = rest.pop();
  if (last === undefined) return model === first;
  if (!model.startsWith(first) || !model.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = model.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= model.length - last.length;
}
