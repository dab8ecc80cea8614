import type { RequestLine } from "../dialect.ts";
import { pathModel } from "../shared/model-path.ts";

/** Collections of models besides `models`. */
const collections = /^(?:models|tunedModels|publishers|dynamic)\//;

/** The path of a request below the base URL: of AI Studio's version, or of Vertex's publisher. */
export function upstreamPath({ model, stream }: RequestLine): string {
  const name = pathModel(model);
  const resource = collections.test(name) ? name : `models/${name}`;
  const path = resource.split("/").map(encodeURIComponent).join("/");
  return `/${path}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}
