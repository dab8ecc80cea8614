import type { Difference, ModelDifference, Profile } from "../turn/profile.ts";
import { absent, extendProfile, functionsOnly, kindRules, words } from "./extend.ts";

/** The provider's tools in the forms of this API. */
const search = { googleSearch: {} } as const;
const interpreter = { codeExecution: {} } as const;

/** Any model of the third generation and later, by Google's own API. */
const newest: Profile = {
  name: "gemini",
  dialect: "gemini",
  provider: "gcp.gemini",
  families: ["gemini-*", "gemma-*"],
  defaultModel: "gemini-flash-latest",
  tools: {
    kinds: {
      ...functionsOnly,
      ...kindRules("native", "web_search web_fetch code_interpreter code_execution"),
    },
    max: 512,
    names: { chars: "A-Za-z0-9_.:-", first: "A-Za-z_", max: 64 },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
    schema: { anyRoot: false, consts: false, refs: "bare", draft: "2020-12" },
    mixed: "declared",
    foreign: {
      chat: { web_search: search, code_interpreter: interpreter },
      responses: { web_search: search, code_interpreter: interpreter },
      messages: {
        web_search: search,
        web_fetch: { urlContext: {} },
        code_execution: interpreter,
      },
    },
  },
  params: { parallelCalls: null },
  maxStops: 5,
  formats: ["text", "json", "schema"],
  reasoning: "signed_thinking",
  reasons: true,
  thinking: {
    forms: ["adaptive"],
    efforts: ["low", "medium", "high"],
    display: true,
    leads: true,
  },
  streamUsage: false,
  countsTokens: true,
  pauses: "continuation",
  history: {
    paired: true,
    interleaved: true,
    roles: ["system", "user", "assistant"],
    lateSystem: false,
    reminderTag: "system-reminder",
    media: ["image", "file", "audio"],
    resultMedia: ["image", "file", "audio"],
    systemMedia: [],
    empty: false,
    names: false,
    resultNames: true,
    beforeCalls: "Continue.",
    strayResults: "text",
  },
};

/** Before the third generation: no signatures, budgets in place of levels, one sort of tools. */
const second: Difference = {
  tools: { mixed: false },
  toolFormats: ["text"],
  history: { resultMedia: [] },
};

/** Schemas of protobuf, which refuse the whole request over one unknown word. */
const openApi = {
  openApi: true,
  empty: false,
  refs: false,
  unions: ["anyOf"],
  maps: false,
  typeLists: false,
  untyped: false,
  tuples: false,
  mixedEnums: false,
  keys: { chars: "A-Za-z0-9_", first: "A-Za-z_", max: 64 },
  formats: ["date-time", "enum", "float", "double", "int32", "int64"],
  keywords: words(
    "format title default minimum maximum minItems maxItems minLength maxLength pattern " +
      "minProperties maxProperties nullable example",
  ),
} as const;

const withoutThinking = {
  reasons: false,
  thinking: { forms: [], efforts: [], display: false, leads: false },
} as const satisfies Difference;

const budgets = (least: number, most: number, off: boolean): Difference["thinking"] => ({
  forms: ["adaptive"],
  efforts: [],
  display: true,
  leads: false,
  budgets: { least, most, off },
});

/** Of several that match the later count. Unknown names are taken to be the newest models. */
const models: readonly ModelDifference[] = [
  { match: "*gemini-3-pro*", thinking: { forms: [], efforts: ["low", "high"], leads: true } },
  {
    match: words(
      "*gemini-3-flash* *gemini-3.1-flash* *gemini-3.5-flash* *gemini-3.6-flash* *gemini-3*flash-lite*",
    ),
    thinking: { forms: [], efforts: ["minimal", "low", "medium", "high"], leads: true },
  },
  { match: "*gemini-2.5-*", ...second, thinking: budgets(128, 32_768, false) },
  { match: "*gemini-2.5-flash*", thinking: budgets(1, 24_576, true) },
  { match: "*gemini-2.5-flash-lite*", thinking: budgets(512, 24_576, true) },
  {
    match: ["*gemini-2.0-*", "*gemini-1.*", "*gemma-*"],
    ...second,
    ...withoutThinking,
    tools: { mixed: false, schema: openApi },
    formats: ["text", "json"],
  },
  { match: "*gemma-*", history: { resultMedia: [], roles: ["user", "assistant"] } },
];

/**
 * Gemini by its own API at Google AI Studio, `https://generativelanguage.googleapis.com/v1beta`. From the types
 * of the `@google/genai` package 2.32, the public protos of the API, and the vendor's pages on thinking, thought
 * signatures and function calling, read 2026-11. Not tried against it.
 */
export const gemini = extendProfile(newest, {
  models: [
    ...models,
    { match: "*gemini-2.5-*", params: absent("presencePenalty frequencyPenalty") },
  ],
});

/**
 * Gemini on Vertex AI,
 * `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/google`, with
 * Google's credentials of the host; with an API key, `https://aiplatform.googleapis.com/v1beta1/publishers/google`.
 * From the same sources. Not tried against it.
 *
 * Functions and tools that it runs need no mark, and it has neither tiers nor a store in its requests.
 */
const { mixed: _, ...unmarked } = newest.tools;
export const vertex = extendProfile(
  {
    ...newest,
    name: "vertex",
    provider: "gcp.vertex_ai",
    families: undefined,
    defaultModel: null,
    tools: unmarked,
  },
  {
    credentials: "google",
    params: { serviceTier: null, store: null },
    tools: {
      foreign: {
        messages: {
          web_search: { googleSearch: { excludeDomains: { $from: "blocked_domains", else: [] } } },
        },
      },
    },
    models,
  },
);
