import { absent, extendProfile, switched } from "./extend.ts";
import { messagesOf, openChat } from "./generic.ts";

// Past reasoning is ignored unless `clear_thinking` is false.
const on = { thinking: { type: "enabled", clear_thinking: false } };
const off = { thinking: { type: "disabled" } };

/**
 * Zhipu (open.bigmodel.cn), for the GLM-5 models. From the z-ai SDK's request
 * types, docs.bigmodel.cn and docs.z.ai (web search, thinking mode, stream tool
 * call, core parameters), and agentscope-java's GLM notes; the efforts of
 * GLM-5.3 from openrouter.ai and models.dev. Read 2026-11.
 *
 * Tools are called at will: no other choice is taken. Calls are streamed only if `tool_stream` is set. The V models alone see images. api.z.ai is the same but for
 * the names of its search engines. Inferred: `strict`, the number of tools, and
 * which effort of GLM-5.3 is nearest to which.
 */
export const zhipu = extendProfile(openChat, {
  name: "zhipu",
  families: ["glm-*"],
  defaultModel: "glm-5.2",
  tools: {
    kinds: { web_search: "native", file_search: "native" },
    choice: ["auto"],
    schema: { strict: false },
    builtins: {
      web_search: {
        type: "web_search",
        web_search: {
          enable: true,
          search_engine: "search_std",
          search_result: true,
          content_size: { $from: "search_context_size", map: { high: "high" }, else: "medium" },
          search_domain_filter: { $from: "filters.allowed_domains.0" },
        },
      },
      file_search: {
        type: "retrieval",
        retrieval: { knowledge_id: { $from: "vector_store_ids.0" } },
      },
    },
  },
  params: {
    ...absent("n logitBias logprobs presencePenalty frequencyPenalty parallelCalls"),
    user: "user_id",
    safetyIdentifier: "user_id",
  },
  effort: { none: { as: null, fields: off } },
  fields: { tool_stream: true, ...on },
  formats: ["text", "json"],
  history: { media: [], names: false },
  models: [
    {
      match: "glm-5.3*",
      effort: {
        none: { as: "low", fields: on, changed: true },
        minimal: { as: "low" },
        medium: { as: "high" },
        xhigh: { as: "max" },
      },
    },
    {
      match: ["glm-4*", "glm-5", "glm-5-*", "glm-5.1*", "glm-5v*"],
      params: { effort: null },
      effort: switched(off, on),
    },
    { match: ["glm-4-*", "glm-4.5*"], fields: { tool_stream: null } },
    { match: ["glm-*v", "glm-*v-*"], history: { media: ["image"] } },
  ],
});

/**
 * Z.ai and Zhipu in their Messages form, `https://api.z.ai/api/anthropic/v1` and
 * `https://open.bigmodel.cn/api/anthropic/v1`, for the GLM models. After
 * docs.z.ai, Claude Code. Not tried against it.
 *
 * Inferred: that a forced choice and formats are not taken, as in its chat.
 */
export const zhipuMessages = messagesOf(zhipu, {
  tools: { choice: ["auto", "none"] },
  params: absent("topK user"),
});
