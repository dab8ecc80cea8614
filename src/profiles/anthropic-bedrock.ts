import { anthropic } from "./anthropic.ts";
import { extendProfile } from "./extend.ts";

/**
 * Claude on Amazon Bedrock by InvokeModel, `https://bedrock-runtime.REGION.amazonaws.com`,
 * with an API key of Bedrock as bearer token or requests that the host signs.
 * From the AWS page on Anthropic's Messages API and the `@anthropic-ai/bedrock-sdk`
 * package. Not tried against it.
 *
 * Its streams have frames of AWS's own, which nobody here reads: it is asked for
 * whole answers, and clients that want streams are given them all the same. It
 * runs no tools itself and takes no system messages among the others.
 */
export const anthropicBedrock = extendProfile(anthropic, {
  name: "anthropic-bedrock",
  provider: "aws.bedrock",
  defaultModel: null,
  route: { path: "/model/{model}/invoke", without: ["model", "stream", "cache_control"] },
  bearer: true,
  fields: { anthropic_version: "bedrock-2023-05-31" },
  tools: {
    kinds: {
      web_search: "ignore",
      web_fetch: "ignore",
      code_execution: "ignore",
      code_interpreter: "ignore",
      mcp_toolset: "ignore",
      advisor: "ignore",
      tool_search_tool: "ignore",
    },
    deferred: false,
  },
  history: { lateSystem: false },
  params: { serviceTier: null, user: null },
});
