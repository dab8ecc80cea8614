import { isFields } from "../../turn/json.ts";
import type { NameRule, Profile } from "../../turn/profile.ts";

type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** What a profile says otherwise than the one it is built on. */
export type Difference = Some<Omit<Profile, "tools" | "dialect">> & {
  readonly tools?:
    | (Some<Omit<Profile["tools"], "names">> & { readonly names?: Some<NameRule> | undefined })
    | undefined;
};

/** A profile with the differences in place: groups are merged by key, lists are replaced. */
export const extendProfile = (base: Profile, difference: Difference): Profile =>
  merge(base, difference) as Profile;

/** So many tools that only the upstream itself knows when it is too many. */
export const NO_LIMIT = 1_000_000;

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
