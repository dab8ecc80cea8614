export type FaultSpec = {
  /** The HTTP status for the client, unless the fault has its own. */
  readonly status: number;
  /** The `type` of an OpenAI error body. */
  readonly type:
    | "invalid_request_error"
    | "authentication_error"
    | "permission_error"
    | "not_found_error"
    | "rate_limit_error"
    | "server_error";
  /** True if the same request may succeed later. */
  readonly retry: boolean;
  /** True if only another upstream may succeed. */
  readonly elsewhere?: true;
  /** True if the upstream reported it. */
  readonly fromUpstream?: true;
  readonly what: string;
};

const types: Readonly<Record<number, FaultSpec["type"]>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

/** Faults of the same status and marks, each with its meaning. */
function group<Code extends string>(
  status: number,
  marks: readonly ("retry" | "elsewhere" | "fromUpstream")[],
  meanings: Readonly<Record<Code, string>>,
): Readonly<Record<Code, FaultSpec>> {
  // A failure that the upstream reports and that may pass is not the client's.
  const isPassing = marks.includes("retry") && marks.includes("fromUpstream");
  const isRequest = status < 500 && !isPassing;
  const type = types[status] ?? (isRequest ? "invalid_request_error" : "server_error");
  const marked = Object.fromEntries(marks.map((mark) => [mark, true]));
  const specs = Object.entries<string>(meanings).map(([code, what]) => [
    code,
    { status, type, retry: false, what, ...marked },
  ]);
  return Object.fromEntries(specs) as Record<Code, FaultSpec>;
}

/** Every error this codebase raises on purpose. `npm run docs` makes `docs/reference/faults.md` from it. */
export const faults = {
  ...group(400, [], {
    "request.not_json":
      "The body is not valid JSON; correct it at the position that the message names.",
    "request.invalid":
      "A field has the wrong type or value; the message names the field and what it accepts.",
    "request.missing_model": "The request names no model; set `model`.",
    "tools.name_clash": "Two tools would have the same name at the upstream; rename one of them.",
    "tools.choice_unmet":
      "`tool_choice` names a tool that the request does not declare; declare it, or choose another.",
    previous_response_not_found:
      "The response that the request continues is unknown, expired, deleted or another tenant's; send the whole conversation.",
    "item.not_found":
      "An item that the request refers to is unknown, expired, deleted or another tenant's; send the item itself.",
    "response.not_background":
      "The response was not made in the background, so it can be neither cancelled nor streamed again; retrieve it without `stream`.",
    "plan.lossy":
      "Strictness is on, and the upstream would not get the whole request; leave out the fields that the message lists, or choose another model.",
    "compaction.sealed":
      "The gateway cannot open a compacted conversation: it was changed, is another tenant's, or is from a gateway with another store; compact it again.",
    "agent.invalid":
      "The definition of an agent, section or tool, or a saved session, is not valid; the message names the error.",
  }),
  ...group(400, ["elsewhere"], {
    "request.unsupported":
      "The upstream does not support a field, and the answer would change without it; leave the field out, or choose another model.",
    "tools.too_many":
      "The request has more tools than the upstream accepts; declare fewer, or choose another model.",
    "tools.refused":
      "The upstream's profile refuses tools of this kind; leave the tool out, or choose another model.",
  }),
  ...group(400, ["fromUpstream"], {
    "upstream.refused": "The upstream rejected the request; the message quotes its reason.",
  }),
  ...group(401, [], {
    "auth.missing": "The gateway requires a key, and the request has none; send one.",
    "auth.wrong": "The gateway does not have this key; check the key.",
  }),
  ...group(401, ["elsewhere", "fromUpstream"], {
    "upstream.auth": "The upstream rejected its key; check its `api_key`.",
  }),
  ...group(403, [], {
    "auth.origin":
      "A browser page of another origin may have sent the request, and the gateway has no keys; set `server.keys` or `server.origins`.",
  }),
  ...group(403, ["elsewhere", "fromUpstream"], {
    "upstream.forbidden":
      "The upstream's key does not have permission for this request; check its `api_key`.",
  }),
  ...group(404, [], {
    "request.route": "No route has this path; check the URL.",
    "model.unknown":
      "No configured model or upstream has this name; choose a name that `/v1/models` lists.",
    "thread.unknown": "No stored thread ends with this message; send the whole conversation.",
    "plan.unknown":
      "The gateway has no plan of this answer: it keeps those of the latest answers until a restart.",
    "response.not_found":
      "The response is unknown, expired, deleted or another tenant's; check its id.",
    "completion.not_found":
      "The completion is unknown, expired, deleted or another tenant's; check its id.",
    "conversation.not_found":
      "The conversation is unknown, expired, deleted or another tenant's; check its id.",
    "conversation.item_not_found": "The conversation has no item with this id; check the id.",
  }),
  ...group(404, ["elsewhere", "fromUpstream"], {
    "upstream.not_found":
      "The upstream has no such model or route; check the model's name and the `base_url`.",
  }),
  ...group(405, [], {
    "request.method":
      "The route does not support this method; use one that the `allow` header lists.",
  }),
  ...group(408, ["retry"], {
    "request.timeout": "The request did not arrive in time; send it again.",
    "client.slow":
      "The client read the answer too slowly or not at all; read faster, or ask for a shorter answer.",
  }),
  ...group(408, ["retry", "fromUpstream"], {
    "upstream.timeout": "The upstream gave up the request after its own time limit; try again.",
  }),
  ...group(409, [], {
    "store.superseded":
      "The gateway did not store the turn, because its response or conversation was deleted meanwhile, or another process took it over.",
  }),
  ...group(409, ["retry"], {
    conversation_locked:
      "Another turn of the same conversation is still running; try again after its end.",
  }),
  ...group(413, [], {
    "request.too_large": "The body exceeds `server.body_limit`; send less, or raise the limit.",
  }),
  ...group(413, ["fromUpstream"], {
    "upstream.too_large": "The request is too large for the upstream; send less.",
  }),
  ...group(415, [], {
    "request.content_type": "The `content-type` of the body is not JSON; send `application/json`.",
    "request.encoding":
      "The gateway does not support the body's `content-encoding`; use one that the message lists.",
  }),
  ...group(426, [], {
    "request.websocket":
      "The route accepts no WebSocket connections, or WebSockets are off; use HTTP.",
  }),
  ...group(429, [], {
    "agent.budget": "The agent's run used up its tokens; raise `limits.tokens`.",
  }),
  ...group(429, ["retry"], {
    "limit.requests": "The key has reached its limit of requests per minute; try again later.",
    "limit.tokens": "The key has reached its limit of tokens per minute; try again later.",
    "limit.turns":
      "The key has reached its limit of simultaneous turns; try again after the end of one.",
    "limit.bytes":
      "The running turns of the key hold as many request bytes as its limit allows; try again after the end of one.",
  }),
  ...group(429, ["elsewhere", "fromUpstream"], {
    "upstream.quota": "The upstream's account has no credit or quota left; top it up.",
  }),
  ...group(429, ["retry", "fromUpstream"], {
    "upstream.rate_limited": "The upstream's rate limit is reached; try again later.",
  }),
  ...group(499, [], {
    "response.cancelled": "A client cancelled the background response.",
  }),
  ...group(499, ["retry"], {
    "client.left": "The client disconnected before the end of the answer.",
    "agent.cancelled": "The caller cancelled the agent's run.",
  }),
  ...group(500, [], {
    "store.unusable":
      "The store's database is damaged, belongs to another program, or is from a newer version; name another in `store`.",
    "store.refused":
      "The store cannot hold the turn, because an id is too long, a value is not JSON, or it has too many items.",
    "config.invalid": "The configuration has errors; the message lists each with its remedy.",
    "gateway.internal":
      "The gateway has a bug; report it with the text in the log under the request id.",
  }),
  ...group(502, [], {
    "disclosure.rounds":
      "The model used all hidden rounds to look up folded tools and gave no answer; raise `tools.disclosure.rounds`, or declare fewer tools.",
    "upstream.too_long":
      "The answer exceeds `server.answer_limit`, and the gateway stopped it; ask for less, or raise the limit.",
  }),
  ...group(502, ["retry"], {
    "upstream.unreachable":
      "The gateway cannot connect to the upstream; check its `base_url` and that it is running.",
    "upstream.cut": "The upstream closed the connection before the end of the answer; try again.",
    "upstream.empty": "The upstream sent an empty answer; try again, or choose another model.",
    "upstream.malformed":
      "The upstream's answer is not valid in its dialect; try again, and check its `dialect` and `base_url`.",
    "upstream.format":
      "The answer does not have the format that the client asked for; try again, or choose a model that enforces schemas.",
    "agent.output": "The answer of the agent's run does not match its `output` schema; try again.",
  }),
  ...group(502, ["fromUpstream"], {
    "upstream.said_error":
      "The upstream reported an error inside its answer; the message quotes it.",
  }),
  ...group(502, ["retry", "fromUpstream"], {
    "upstream.failed": "The upstream had an internal error; try again.",
  }),
  ...group(503, ["retry"], {
    "response.lost":
      "The gateway that made the background response stopped or cannot be reached; send the request again.",
    "upstream.busy":
      "All connections to the upstream, or the tenant's share of them, were in use for too long; try again, or raise its `connections`.",
    "store.unavailable":
      "The gateway cannot reach the store, because its database is gone, locked or starting; the gateway tries again by itself.",
    "store.full": "The disk of the store is full; free some space.",
    "gateway.stopping": "The gateway is shutting down; try again after its restart.",
    "gateway.busy":
      "The gateway holds as many requests as its limits allow; try again in a moment.",
    "gateway.exhausted":
      "The gateway has no file descriptors or memory left for another connection; try again, and raise its limits.",
  }),
  ...group(503, ["retry", "fromUpstream"], {
    "upstream.overloaded": "The upstream is overloaded; try again later.",
  }),
  ...group(504, ["retry"], {
    "upstream.connect_timeout":
      "The upstream did not accept a connection in time; check its `base_url`, or raise `timeouts.connect`.",
    "upstream.headers_timeout":
      "The upstream accepted the request and did not answer in time; try again, or raise `timeouts.headers`.",
    "upstream.idle_timeout":
      "The upstream stopped sending in the middle of the answer; try again, or raise `timeouts.idle`.",
    "agent.deadline": "The agent's run did not end before its deadline; set a later one.",
    "store.timeout": "The store did not answer in time; try again.",
  }),
  ...group(508, [], {
    "agent.rounds":
      "The agent's run reached its limit of model calls without an answer; raise `limits.rounds`.",
  }),
};
