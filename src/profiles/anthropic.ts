import { extendProfile, NO_LIMIT } from "./extend.ts";
import { anthropicForms, genericMessages } from "./generic-messages.ts";

const noSampling = { temperature: null, topP: null, topK: null } as const;
const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
const free = ["auto", "none"] as const;
const lateSystem = { lateSystem: true } as const;

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
    kinds: {
      web_search: "native",
      web_fetch: "native",
      code_execution: "native",
      code_interpreter: "native",
      tool_search_tool: "native",
      mcp_toolset: "native",
      advisor: "native",
      bash: "native",
      text_editor: "native",
      memory: "native",
      computer: "native",
      computer_toolset: "native",
      browser_toolset: "native",
    },
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
    keywords: [
      "type",
      "properties",
      "required",
      "additionalProperties",
      "items",
      "minItems",
      "anyOf",
      "allOf",
      "enum",
      "const",
      "$ref",
      "$defs",
      "definitions",
      "$schema",
      "format",
      "title",
      "description",
      "default",
    ],
    formats: [
      "date-time",
      "time",
      "date",
      "duration",
      "email",
      "hostname",
      "uri",
      "ipv4",
      "ipv6",
      "uuid",
    ],
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
      match: [
        "*opus-4-1*",
        "*opus-4-2*",
        "*opus-4-0*",
        "*sonnet-4-0*",
        "*sonnet-4-2*",
        "*claude-3-7-*",
      ],
      maxTokens: 32_000,
      thinking: { forms: ["enabled", "disabled"], efforts: [], display: true, leads: true },
      history: { prefill: true },
    },
    {
      match: "*-4-5*",
      maxTokens: 64_000,
      exclusiveSampling: true,
      thinking: { forms: ["enabled", "disabled"], efforts: [], display: true, leads: true },
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
    { match: "*opus-4-8*", maxTokens: 128_000, params: noSampling, history: lateSystem },
    {
      match: ["*opus-5*", "*haiku-5-5*"],
      maxTokens: 128_000,
      params: noSampling,
      history: lateSystem,
    },
    {
      match: ["*fable-5*", "*mythos-5*"],
      maxTokens: 128_000,
      params: noSampling,
      history: lateSystem,
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
