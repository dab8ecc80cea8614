import { anthropic } from "./anthropic.ts";
import { extendProfile } from "./extend.ts";

/**
 * Claude on Vertex AI, `https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/anthropic`,
 * with an access token as key. After Google's page on the models of partners and
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
  fields: { anthropic_version: "vertex-2023-10-16" },
  tools: {
    kinds: {
      web_fetch: "ignore",
      code_execution: "ignore",
      code_interpreter: "ignore",
      mcp_toolset: "ignore",
      advisor: "ignore",
    },
  },
  history: { lateSystem: false },
  params: { serviceTier: null },
});
