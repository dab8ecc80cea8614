import { routeTable } from "../../src/gateway/http/routes.ts";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { code, described, table } from "./table.ts";

/** The paths of models for clients of Gemini's API. */
const modelPlaces = (builtinDialects.get("gemini")?.door?.routes ?? []).map((path) =>
  path.replace("/{model}:{action}", ""),
);

/** Routes by group, with what each does. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Turns: {
    "POST /v1/chat/completions": "A turn of Chat Completions, streamed or whole.",
    "POST /v1/responses": "A turn of the Responses API, streamed or whole.",
    "POST /v1/messages": "A turn of Anthropic Messages, streamed or whole.",
    "GET /v1/responses":
      "With a WebSocket upgrade: the same turns over a [WebSocket](../guides/stored-responses.md#websockets). Otherwise 426.",
    "POST /v1/responses/input_tokens":
      "The number of tokens of a Responses request. `x-patchbay-token-count` is `upstream` or `estimate`.",
    "POST /v1/messages/count_tokens":
      "The number of tokens of a Messages request. `x-patchbay-token-count` is `upstream` or `estimate`.",
    "POST /v1/responses/compact":
      "[Compacts](../guides/stored-responses.md#compaction) the conversation of the request.",
  },
  Gemini: {
    ...Object.fromEntries(
      modelPlaces.flatMap((place) => [
        [
          `POST ${place}/{model}:{action}`,
          "A turn of Gemini's API. The action is `generateContent` or `streamGenerateContent`; a stream is SSE with `alt=sse`, else one JSON list.",
        ],
        [
          `POST ${place}/{model}:countTokens`,
          "The number of tokens of a Gemini request. `x-patchbay-token-count` is `upstream` or `estimate`.",
        ],
      ]),
    ),
    ...Object.fromEntries(
      (builtinDialects.get("gemini")?.door?.models?.routes ?? []).flatMap((place) => [
        [
          `GET ${place}`,
          "The names in `models`, in the form of Gemini's API: `pageSize`, `pageToken`.",
        ],
        [
          `GET ${place}/*`,
          "One model in that form, also by a name that a pattern under `models` fits.",
        ],
      ]),
    ),
  },
  "Stored responses": {
    "GET /v1/responses/{id}":
      "A stored response as its client received it. With `stream=true`, the events of a background response after `starting_after`.",
    "DELETE /v1/responses/{id}": "Deletes a response; stops it if it is still being made.",
    "POST /v1/responses/{id}/cancel": "Ends a background response.",
    "GET /v1/responses/{id}/input_items":
      "The input of the model, including continued responses: `limit` (1 to 100, default 20), `after`, `order`.",
  },
  "Stored chat completions": {
    "GET /v1/chat/completions":
      "Completions with `store: true`: `limit`, `after`, `order`, `model`, `metadata[key]`. With filters or long completions a page may be shorter than `limit`.",
    "GET /v1/chat/completions/{id}": "One stored completion.",
    "POST /v1/chat/completions/{id}": "Changes its `metadata`.",
    "DELETE /v1/chat/completions/{id}": "Deletes it.",
    "GET /v1/chat/completions/{id}/messages": "The messages of its request.",
  },
  Conversations: {
    "POST /v1/conversations":
      "Creates a [conversation](../guides/stored-responses.md#conversations).",
    "GET /v1/conversations/{id}": "One conversation.",
    "POST /v1/conversations/{id}": "Changes its `metadata`.",
    "DELETE /v1/conversations/{id}": "Deletes it with its items.",
    "GET /v1/conversations/{id}/items": "Its items: `limit`, `after`, `order`.",
    "POST /v1/conversations/{id}/items": "Adds items.",
    "GET /v1/conversations/{id}/items/{item}": "One item.",
    "DELETE /v1/conversations/{id}/items/{item}": "Deletes an item.",
  },
  "Models and plans": {
    "GET /v1/models":
      "The names in `models`, and `upstream/model` for each model that an upstream lists.",
    "GET /v1/models/*": "One model, also by a name that a pattern under `models` fits.",
    "POST /v1/plan":
      "The plan of a Chat, Responses, Messages or Gemini request. No upstream is called.",
    "GET /v1/plans/*": "The plan of a past answer, by the id of the answer or of its request.",
    "GET /v1/usage": "[Sums of the tenant's usage](../guides/teams-and-keys.md#usage-and-cost).",
    "GET /v1/turns": "The tenant's latest turns: `last`, or `since` a number.",
    "GET /v1/turns/*": "One turn, by the id of its request.",
  },
  "State of the gateway": {
    "GET /": "A short page with the state and the first steps. No key; names only without keys.",
    "GET /healthz": "200 while the process runs. No key.",
    "GET /livez": "200 while the process runs. No key.",
    "GET /readyz": "200 while any upstream is ready, with the state of each. No key.",
    "GET /metrics": "[Metrics](metrics.md) in Prometheus text format. No key.",
  },
};

/** `docs/reference/http-api.md`, from the route table. */
export function httpApiPage(): string {
  const { routes } = routeTable(builtinDialects);
  const names = routes
    .filter(({ path, refuses }) => refuses !== true || path === "/v1/responses")
    .map(({ method, path }) => `${method} ${path}`);
  const all = Object.assign({}, ...Object.values(groups)) as Readonly<Record<string, string>>;
  described("routes", [...new Set(names)], all);
  const tables = Object.entries(groups).map(
    ([title, rows]) =>
      `## ${title}\n\n${table(
        ["route", "effect"],
        Object.entries(rows).map(([route, effect]) => [code(route), effect]),
      )}`,
  );
  return `# HTTP API

After this page you know every route of a gateway. \`npm run docs\` makes this page from the route table.

Base URLs work with and without \`/v1\`. Clients send their key as \`Authorization: Bearer\`, \`x-api-key\`, \`api-key\` or \`x-goog-api-key\`, or as \`key\` in the query. Errors have the form of the client's dialect, with a stable code from the [table of faults](faults.md); [headers](headers.md) lists the headers of requests and answers.

Bodies may be compressed (\`content-encoding: gzip\`, \`deflate\`, \`br\` or \`zstd\`); other encodings get 415. \`HEAD\` works wherever \`GET\` does. An unknown path gets 404 with the nearest route; below the paths of Gemini's API, with what is served there.

Every stream ends with exactly one terminal: chat with one \`finish_reason\` per choice, then \`[DONE]\`; Responses with \`response.completed\`, \`response.incomplete\` or \`response.failed\`, then \`[DONE]\`; Messages with \`message_stop\` or \`error\`; Gemini with a \`finishReason\` per candidate, or with an error after which the connection breaks off. A failure before the first event is an HTTP error.

${tables.join("\n\n")}
`;
}
