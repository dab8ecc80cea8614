import { isFields } from "../json/json.ts";
import type { Difference, KindRule, Profile } from "../turn/profile.ts";
import type { Fields, Params } from "../turn/turn.ts";

type Extension = Difference &
  Partial<Pick<Profile, "name" | "provider" | "families" | "defaultModel" | "models">>;

/** A profile with the differences in place: groups are merged by key, lists are replaced. */
export function extendProfile(
  base: Profile,
  { name = base.name, provider, families, defaultModel, models: own = [], ...rest }: Extension,
): Profile {
  const profile = merge(base, { name, provider, families, defaultModel, ...rest }) as Profile;
  // The differences for all models also win over those of the base for some models.
  const models =
    base.models === undefined ? own : [...base.models, { match: "*", ...rest }, ...own];
  return models.length === 0 ? profile : { ...profile, models };
}

/** A list of words with blanks between. */
export const words = (text: string): readonly string[] => text.split(" ");

/** Parameters that an upstream does not have, by their names with blanks between. */
export const absent = (names: string): { readonly [P in keyof Params]?: null } =>
  Object.fromEntries(words(names).map((name) => [name, null]));

/** The same rule for several kinds of tool. */
export const kindRules = (rule: KindRule, names: string): Profile["tools"]["kinds"] =>
  Object.fromEntries(words(names).map((kind) => [kind, rule]));

/** Names of OpenAI's models. */
export const openaiFamilies: readonly string[] = [
  "gpt-*",
  "chatgpt-*",
  "codex-*",
  ...Array.from({ length: 9 }, (_, at) => `o${at + 1}*`),
];

/** For limits that only the upstream itself knows. */
export const NO_LIMIT = 1_000_000;

/** Rules of an upstream that has only functions: tools that other providers run are left out. */
export const functionsOnly: Profile["tools"]["kinds"] = {
  function: "native",
  ...kindRules(
    "ignore",
    "web_search file_search code_interpreter computer_use image_generation mcp",
  ),
  "*": "degrade",
};

/** Efforts of an upstream that always thinks, and decides how much. */
export const ungraded = {
  medium: {},
  high: {},
  "*": { changed: true },
} as const satisfies Profile["effort"];

/** Efforts of an upstream whose thinking is only on or off. */
export const switched = (off: Fields, on: Fields): NonNullable<Profile["effort"]> => ({
  none: { fields: off },
  medium: { fields: on },
  high: { fields: on },
  "*": { fields: on, changed: true },
});

/** Parameters of OpenAI's own chat that compatible servers do not have. */
export const openaiOnly = absent(
  "verbosity serviceTier store metadata safetyIdentifier cacheKey cacheRetention modalities " +
    "audio prediction webSearch",
);

function merge(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isFields(base) || !isFields(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value);
  return merged;
}
