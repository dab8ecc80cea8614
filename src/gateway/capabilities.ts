import { z } from "zod";
import { params } from "../dialects/shared/params.ts";
import type {
  EffortRule,
  HistoryRule,
  NameRule,
  Profile,
  SchemaRule,
  ThinkingRule,
} from "../turn/profile.ts";
import { extendProfile } from "../profiles/extend.ts";

/** Fields of a profile that configuration may override: all but its identity. */
type Overridable = Omit<Profile, "name" | "provider" | "dialect" | "models">;

const kind = z.enum(["native", "degrade", "ignore", "refuse"]);
const paramNames = Object.keys(params) as [keyof typeof params, ...(keyof typeof params)[]];

const chars = z.string().min(1).refine(isCharacterClass, {
  error: "is not a set of characters; write it as between brackets, such as `A-Za-z0-9_-`",
});

const names = {
  chars,
  // Shorter names leave no room to tell them apart.
  max: z.int().min(8),
  first: chars,
  reserved: z.array(z.string()),
  codec: z.enum(["bend", "hash"]),
} satisfies Record<keyof NameRule, z.ZodType>;

const nameRule = z.strictObject(names).partial({ first: true, reserved: true, codec: true });

const schema = {
  refs: z.union([z.boolean(), z.literal("bare")]),
  unions: z.array(z.enum(["anyOf", "oneOf", "allOf"])),
  anyRoot: z.boolean(),
  maps: z.boolean(),
  optional: z.boolean(),
  typeLists: z.boolean(),
  untyped: z.boolean(),
  tuples: z.boolean(),
  consts: z.boolean(),
  mixedEnums: z.boolean(),
  keywords: z.array(z.string()),
  formats: z.array(z.string()),
  keys: nameRule,
  strict: z.boolean(),
  draft: z.enum(["2020-12"]),
  openApi: z.boolean(),
  empty: z.boolean(),
} satisfies Record<keyof SchemaRule, z.ZodType>;

const fields = z.record(z.string(), z.unknown());
const medium = z.enum(["image", "file", "audio"]);
const history = {
  paired: z.boolean(),
  interleaved: z.boolean(),
  roles: z.array(z.enum(["system", "developer", "user", "assistant"])),
  lateSystem: z.boolean(),
  reminderTag: z.string().regex(/^[\w-]+$/),
  media: z.array(medium),
  resultMedia: z.array(medium),
  systemMedia: z.array(medium),
  empty: z.boolean(),
  names: z.boolean(),
  prefill: z.boolean(),
  resultNames: z.boolean(),
  reasoningWithCalls: z.string(),
  behindResults: z.string(),
  beforeCalls: z.string(),
  ids: nameRule.extend({ exact: z.boolean().optional() }),
  callIds: z.boolean(),
  signatures: z.boolean(),
  strayResults: z.enum(["text"]),
} satisfies Record<keyof HistoryRule, z.ZodType>;

const tools = {
  kinds: z.record(z.string(), kind),
  max: z.int().positive(),
  names: z.strictObject(names).partial(),
  descriptions: z.int().min(60),
  choice: z.array(z.enum(["auto", "none", "required", "function", "allowed"])),
  parallel: z.boolean(),
  declares: z.enum(["turn", "thread"]),
  deferred: z.boolean(),
  written: z.boolean(),
  namespaces: z.boolean(),
  cached: z.boolean(),
  schema: z.strictObject(schema).partial(),
  mixed: z.union([z.literal(false), z.literal("declared")]),
  builtins: z.record(z.string(), fields),
  foreign: z.record(z.string(), z.record(z.string(), fields)),
} satisfies Record<keyof Profile["tools"], z.ZodType>;

const effort = {
  as: z.string().min(1).nullable(),
  fields,
  changed: z.boolean(),
} satisfies Record<keyof EffortRule, z.ZodType>;

const thinking = {
  forms: z.array(z.string().min(1)),
  efforts: z.array(z.string().min(1)),
  display: z.boolean(),
  leads: z.boolean(),
  budgets: z.strictObject({ least: z.int(), most: z.int(), off: z.boolean() }),
} satisfies Record<keyof ThinkingRule, z.ZodType>;

const formats = z.array(z.enum(["text", "json", "schema", "strict"]));

const overridable = {
  tools: z.strictObject(tools).partial(),
  params: z.partialRecord(z.enum(paramNames), z.string().min(1).nullable()),
  effort: z.record(z.string(), z.strictObject(effort).partial()),
  fields,
  route: z.strictObject({
    path: z.string().startsWith("/"),
    stream: z.string().startsWith("/").optional(),
    without: z.array(z.string()),
  }),
  bearer: z.boolean(),
  credentials: z.enum(["google"]),
  pauses: z.union([z.boolean(), z.literal("continuation")]),
  formats,
  toolFormats: formats,
  strictSchema: z.strictObject({ keywords: z.array(z.string()), formats: z.array(z.string()) }),
  reasoning: z.enum([
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "items",
    "thinking",
    "signed_thinking",
    "none",
  ]),
  reasons: z.boolean(),
  families: z.array(z.string().min(1)),
  defaultModel: z.string().min(1).nullable(),
  thinking: z.strictObject(thinking).partial({ display: true, leads: true, budgets: true }),
  maxTokens: z.int().positive(),
  maxUser: z.int().positive(),
  maxStops: z.int().positive(),
  countsTokens: z.boolean(),
  exclusiveSampling: z.boolean(),
  cacheMark: fields,
  streamUsage: z.boolean(),
  history: z.strictObject(history).partial(),
} satisfies Record<keyof Overridable, z.ZodType>;

const difference = z.strictObject(overridable).partial();
const name = z.string().min(1);
const model = difference.extend({
  match: z.union([name, z.array(name).min(1)], {
    error: "must be the name of a model, or a list of names; `*` stands for anything",
  }),
});

/** Any part of a profile, as configuration overrides it. */
export const capabilitiesSchema = difference.extend({ models: z.array(model).optional() });

export type Capabilities = z.output<typeof capabilitiesSchema>;

/** A profile with the overrides in place: groups are merged by key, lists are replaced. */
export const overrideProfile = (profile: Profile, overrides: Capabilities | undefined): Profile =>
  overrides === undefined ? profile : extendProfile(profile, overrides);

function isCharacterClass(chars: string): boolean {
  // A bracket would end the set, and the rest would be a pattern.
  if (!/^(?:[^[\]\\]|\\.)+$/s.test(chars)) return false;
  try {
    return new RegExp(`^[${chars}]*$`, "u").test("");
  } catch {
    return false; // Not a character class.
  }
}
