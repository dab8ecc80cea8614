import { extendProfile, openaiOnly } from "./extend.ts";
import { genericChat } from "./generic-chat.ts";

/**
 * Zhipu (open.bigmodel.cn), for the GLM-5 models. From the z-ai SDK's request
 * types, docs.bigmodel.cn, web search API, and agentscope-java's GLM notes.
 * Read 2026-11.
 *
 * Tools are called at will: no other choice is taken. The V models alone see
 * images: allow them `history.media`. api.z.ai is the same but for the names of
 * its search engines. Inferred: `strict` and the number of tools.
 */
export const zhipu = extendProfile(genericChat, {
  name: "zhipu",
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
    ...openaiOnly,
    user: "user_id",
    safetyIdentifier: "user_id",
    n: null,
    logitBias: null,
    logprobs: null,
    presencePenalty: null,
    frequencyPenalty: null,
    parallelCalls: null,
  },
  formats: ["text", "json"],
  history: { media: [] },
});
