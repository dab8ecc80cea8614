import { isFields } from "../json/json.ts";
import type { Difference, Profile } from "../turn/profile.ts";
import type { Fields } from "../turn/turn.ts";

type Extension = Difference &
  Partial<Pick<Profile, "name" | "provider" | "families" | "defaultModel" | "models">>;

/** A profile with the differences in place: groups are merged by key, lists are replaced. */
export function extendProfile(
  base: Profile,
  { name = base.name, provider, families, defaultModel, models: own = [], ...rest }: Extension,
): Profile {
  const profile = merge(base, { name, provider, families, defaultModel, ...rest }) as Profile;
  // What is said here of all models holds for those too that the base sets apart.
  const models =
    base.models === undefined ? own : [...base.models, { match: "*", ...rest }, ...own];
  return models.length === 0 ? profile : { ...profile, models };
}

/** What OpenAI's models are called. */
export const openaiFamilies: readonly string[] = [
  "gpt-*",
  "chatgpt-*",
  "codex-*",
  ...Array.from({ length: 9 }, (_, at) => `o${at + 1}*`),
];

/** So many, of tools say, that only the upstream itself knows when it is too many. */
export const NO_LIMIT = 1_000_000;

/** Kinds of tool where functions are all there is: what others run for the client is left out. */
export const functionsOnly = {
  function: "native",
  web_search: "ignore",
  file_search: "ignore",
  code_interpreter: "ignore",
  computer_use: "ignore",
  image_generation: "ignore",
  mcp: "ignore",
  "*": "degrade",
} as const satisfies Profile["tools"]["kinds"];

/** Efforts of an upstream that thinks as much as it likes, and always. */
export const ungraded = {
  medium: {},
  high: {},
  "*": { changed: true },
} as const satisfies Profile["effort"];

/** Efforts of an upstream that can only be told to think or not to. */
export const switched = (off: Fields, on: Fields): NonNullable<Profile["effort"]> => ({
  none: { fields: off },
  medium: { fields: on },
  high: { fields: on },
  "*": { fields: on, changed: true },
});

/** What OpenAI's own chat has and the servers compatible with it do not. */
export const openaiOnly = {
  verbosity: null,
  serviceTier: null,
  store: null,
  metadata: null,
  safetyIdentifier: null,
  cacheKey: null,
  cacheRetention: null,
  modalities: null,
  audio: null,
  prediction: null,
  webSearch: null,
} as const satisfies Profile["params"];

function merge(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isFields(base) || !isFields(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value);
  return merged;
}
