/** The list of models as Gemini's API writes it. */

import type { Fields } from "../../turn/turn.ts";
import { invalid } from "../shared/shape.ts";

/** The paths of the list. Clients that name a model `models/x` repeat the last step. */
const routes = ["/v1beta", "/v1alpha", "/v1beta1/publishers/google"].flatMap((version) => [
  `${version}/models/models`,
  `${version}/models`,
]);

const DEFAULT_SIZE = 50;
const LARGEST_SIZE = 1000;

/** Limits and versions are not known here, and clients do without them. */
const modelOf = (name: string): Fields => ({
  name: `models/${name}`,
  baseModelId: name,
  version: "001",
  displayName: name,
  supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
});

/** The token of a page is the last name on the page before. */
function page(names: readonly string[], query: string): Fields {
  const asked = new URLSearchParams(query);
  const size = Number(asked.get("pageSize") ?? asked.get("page_size") ?? 0);
  if (!(Number.isInteger(size) && size >= 0))
    throw invalid("pageSize", "must be a whole number of at least 0");
  const token = asked.get("pageToken") ?? asked.get("page_token") ?? "";
  const before = token === "" ? -1 : names.indexOf(token);
  if (token !== "" && before === -1)
    throw invalid("pageToken", "is not of this list; begin again without it");
  const most = Math.min(size === 0 ? DEFAULT_SIZE : size, LARGEST_SIZE);
  const part = names.slice(before + 1, before + 1 + most);
  const hasMore = before + 1 + part.length < names.length;
  return { models: part.map(modelOf), ...(hasMore && { nextPageToken: part.at(-1) }) };
}

const headers = ["x-goog-api-key", "x-goog-api-client"];

export const models = { routes, headers, page, model: modelOf };
