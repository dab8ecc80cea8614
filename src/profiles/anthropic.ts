import { extendProfile, kindRules, NO_LIMIT, words } from "./extend.ts";
import { anthropicForms, genericMessages } from "./generic.ts";

const noSampling = { temperature: null, topP: null, topK: null } as const;
const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
const free = ["auto", "none"] as const;
const lateSystem = { lateSystem: true } as const;
const budgets = {
  forms: ["enabled", "disabled"],
  efforts: [],
  display: true,
  leads: true,
} as const;
const newest = { maxTokens: 128_000, params: noSampling, history: lateSystem } as const;

/**
 * Anthropic's own API. From the types of the `@anthropic-ai/sdk` package 1.8,
 * the vendor's pages on errors, thinking, tool use and structured outputs, and
 * the table of models of `@ai-sdk/anthropic`; the rows of the newest models rest
 * on that table alone. Read 2026-11.
 *
 * Not documented: how many tools it takes, so the API is left to say it.
 */
export const anthropic = extendProfile(genericMessages, {
  name: "anthropic",
  provider: "anthropic",
  families: ["claude-*"],
  defaultModel: "claude-sonnet-5",
  tools: {
    kinds: kindRules(
      "native",
      "web_search web_fetch code_execution code_interpreter tool_search_tool mcp_toolset advisor bash text_editor memory computer computer_toolset browser_toolset",
    ),
    foreign: anthropicForms,
    max: NO_LIMIT,
    names: { max: 128 },
    deferred: true,
    schema: {
      anyRoot: false,
      strict: false,
      draft: "2020-12",
      keys: { chars: "A-Za-z0-9_.-", max: 64 },
    },
  },
  params: { thread: "thread", compaction: "compaction" },
  countsTokens: true,
  formats: ["text", "strict"],
  strictSchema: {
    keywords: words(
      "type properties required additionalProperties items minItems anyOf allOf enum " +
        "const $ref $defs definitions $schema format title description default",
    ),
    formats: words("date-time time date duration email hostname uri ipv4 ipv6 uuid"),
  },
  reasoning: "signed_thinking",
  maxTokens: 64_000,
  maxUser: 256,
  pauses: true,
  thinking: { forms: ["adaptive", "disabled"], efforts, display: true },
  cacheMark: { type: "ephemeral" },
  history: {
    lateSystem: false,
    prefill: false,
    media: ["image", "file"],
    resultMedia: ["image", "file"],
  },
  // Of several that match the later count.
  models: [
    {
      match: ["*claude-3*", "*claude-2*"],
      maxTokens: 4_096,
      thinking: { forms: ["disabled"], efforts: [], display: false },
      history: { prefill: true },
    },
    { match: "*claude-3-5-*", maxTokens: 8_192 },
    {
      match: words("*opus-4-1* *opus-4-2* *opus-4-0* *sonnet-4-0* *sonnet-4-2* *claude-3-7-*"),
      maxTokens: 32_000,
      thinking: budgets,
      history: { prefill: true },
    },
    {
      match: "*-4-5*",
      maxTokens: 64_000,
      exclusiveSampling: true,
      thinking: budgets,
      history: { prefill: true },
    },
    {
      match: "*opus-4-5*",
      thinking: { forms: ["enabled", "disabled"], efforts: ["low", "medium", "high"], leads: true },
    },
    {
      match: ["*opus-4-6*", "*sonnet-4-6*"],
      maxTokens: 128_000,
      thinking: {
        forms: ["adaptive", "enabled", "disabled"],
        efforts: ["low", "medium", "high", "max"],
        display: true,
      },
    },
    { match: ["*opus-4-7*", "*sonnet-5*"], maxTokens: 128_000, params: noSampling },
    { match: ["*opus-4-8*", "*opus-5*", "*haiku-5-5*"], ...newest },
    {
      match: ["*fable-5*", "*mythos-5*"],
      ...newest,
      thinking: { forms: ["adaptive"], efforts, display: true },
    },
    {
      match: ["*fable-5-1*", "*fable-5-2*", "*opus-5-5*"],
      tools: { choice: free },
      thinking: { forms: ["adaptive"], efforts, display: true },
    },
    {
      match: "*sonnet-5-5*",
      history: lateSystem,
      tools: { choice: free },
      thinking: { forms: ["adaptive", "between_tools"], efforts, display: true },
    },
  ],
});

/**
 * Claude on Amazon Bedrock by InvokeModel, `https://bedrock-runtime.REGION.amazonaws.com`,
 * with an API key of Bedrock as bearer token or requests that the host signs.
 * From the AWS page on Anthropic's Messages API and the `@anthropic-ai/bedrock-sdk`
 * package. Not tried against it.
 *
 * Its streams have frames of AWS, which the gateway does not read: it is asked for whole answers,
 * which are sent to streaming clients at once. It runs no tools itself and takes no system messages
 * among the others.
 */
export const anthropicBedrock = extendProfile(anthropic, {
  name: "anthropic-bedrock",
  provider: "aws.bedrock",
  defaultModel: null,
  route: { path: "/model/{model}/invoke", without: ["model", "stream", "cache_control"] },
  bearer: true,
  fields: { anthropic_version: "bedrock-2023-05-31" },
  tools: {
    kinds: kindRules(
      "ignore",
      "web_search web_fetch code_execution code_interpreter mcp_toolset advisor tool_search_tool",
    ),
    deferred: false,
  },
  history: { lateSystem: false },
  params: { serviceTier: null, user: null },
});

/**
 * Claude on Vertex AI, `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/anthropic`,
 * with an access token as key, or Google's credentials of the host. After Google's page on the models of partners and
 * the `@anthropic-ai/vertex-sdk` package. Not tried against it.
 *
 * It takes no system messages among the others, and of the server's tools the
 * search of the web alone.
 */
export const anthropicVertex = extendProfile(anthropic, {
  name: "anthropic-vertex",
  provider: "gcp.vertex_ai",
  defaultModel: null,
  route: {
    path: "/models/{model}:rawPredict",
    stream: "/models/{model}:streamRawPredict",
    without: ["model"],
  },
  bearer: true,
  credentials: "google",
  fields: { anthropic_version: "vertex-2023-10-16" },
  tools: {
    kinds: kindRules("ignore", "web_fetch code_execution code_interpreter mcp_toolset advisor"),
  },
  history: { lateSystem: false },
  params: { serviceTier: null },
});
