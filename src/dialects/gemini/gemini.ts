import type { Fields } from "../../turn/turn.ts";
import type { Dialect, RequestLine } from "../dialect.ts";
import { rateLimitHeaders } from "../shared/headers.ts";
import { pathModel } from "../shared/model-path.ts";
import { geminiErrorText } from "./error-body.ts";
import { models } from "./model-list.ts";
import { readEvents } from "./read-events.ts";
import { readRequest, SERVED } from "./read-request.ts";
import { geminiTraits } from "./traits.ts";
import { contentType, writeAnswer, writeEvents } from "./write-events.ts";
import { correct, writeRequest } from "./write-request.ts";

/** The paths of models, of Google AI Studio and of Vertex AI with and without a project. */
const places = [
  "/v1beta/models",
  "/v1/models",
  "/v1alpha/models",
  "/v1beta/{collection=tunedModels|dynamic}",
  ...["/v1beta1", "/v1"].flatMap((version) => [
    `${version}/publishers/google/models`,
    `${version}/projects/{project}/locations/{location}/publishers/google/models`,
  ]),
];

/** Collections of models besides `models`. */
const collections = /^(?:models|tunedModels|publishers|dynamic)\//;

/** The path of a request below the base URL: of AI Studio's version, or of Vertex's publisher. */
function upstreamPath({ model, stream }: RequestLine): string {
  const name = pathModel(model);
  const resource = collections.test(name) ? name : `models/${name}`;
  const path = resource.split("/").map(encodeURIComponent).join("/");
  return `/${path}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

/** Gemini's generateContent API, as Google AI Studio and Vertex AI serve it. */
export const gemini = {
  name: "gemini",
  title: "Gemini",
  traits: geminiTraits,
  door: {
    routes: places.map((place) => `${place}/{model}:{action}`),
    isRequest: ({ contents }: Fields) => typeof contents === "object" && contents !== null,
    readRequest,
    newAnswerId: (newId) => newId("answer"),
    writeEvents,
    streams: { contentType },
    // The one sign of life that all readers bear, between frames as well as between the entries of a list.
    ping: "\r\n",
    endMarker: "",
    writeAnswer,
    writeError: geminiErrorText,
    rateLimitHeaders,
    tokenCount: {
      routes: places.map((place) => `${place}/{model}:countTokens`),
      body: (tokens) => ({ totalTokens: tokens }),
    },
    models,
    unknownPaths: {
      prefixes: [
        "/v1beta/",
        "/v1alpha/",
        "/v1beta1/",
        "/v1/projects/",
        "/v1/publishers/",
        "/upload/",
      ],
      advice: SERVED,
    },
  },
  upstream: {
    path: upstreamPath,
    headers: (apiKey): Readonly<Record<string, string>> =>
      apiKey ? { "x-goog-api-key": apiKey } : {},
    writeRequest,
    correct,
    readEvents,
    tokenCount: {
      path: "/models/{model}:countTokens",
      fields: ["contents", "systemInstruction", "tools", "toolConfig", "cachedContent"],
      wrap: (fields, model) => ({
        generateContentRequest: { model: `models/${model}`, ...fields },
      }),
      field: "totalTokens",
    },
  },
} as const satisfies Dialect;
