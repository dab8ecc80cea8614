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

type Marks = Pick<FaultSpec, "elsewhere" | "fromUpstream"> & { readonly type?: FaultSpec["type"] };

const types: Readonly<Record<number, FaultSpec["type"]>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

const spec = (status: number, what: string, retry: boolean, marks: Marks = {}): FaultSpec => ({
  status,
  type: types[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
  retry,
  what,
  ...marks,
});

const lasting = (status: number, what: string, marks?: Marks): FaultSpec =>
  spec(status, what, false, marks);
/** The same request may succeed later. */
const passing = (status: number, what: string, marks?: Marks): FaultSpec =>
  spec(status, what, true, marks);

/** Every error this codebase raises on purpose. `npm run docs` makes `docs/reference/faults.md` from it. */
export const faults = {
  "request.not_json": lasting(
    400,
    "The body is not valid JSON; correct it at the position that the message names.",
  ),
  "request.invalid": lasting(
    400,
    "A field has the wrong type or value; the message names the field and what it accepts.",
  ),
  "request.missing_model": lasting(400, "The request names no model; set `model`."),
  "request.too_large": lasting(
    413,
    "The body exceeds `server.body_limit`; send less, or raise the limit.",
  ),
  "request.content_type": lasting(
    415,
    "The `content-type` of the body is not JSON; send `application/json`.",
  ),
  "request.encoding": lasting(
    415,
    "The gateway does not support the body's `content-encoding`; use one that the message lists.",
  ),
  "request.method": lasting(
    405,
    "The route does not support this method; use one that the `allow` header lists.",
  ),
  "request.route": lasting(404, "No route has this path; check the URL."),
  "request.websocket": lasting(
    426,
    "The route accepts no WebSocket connections, or WebSockets are off; use HTTP.",
  ),
  "request.unsupported": lasting(
    400,
    "The upstream does not support a field, and the answer would change without it; leave the field out, or choose another model.",
    { elsewhere: true },
  ),
  "request.timeout": passing(408, "The request did not arrive in time; send it again."),
  "client.slow": passing(
    408,
    "The client read the answer too slowly or not at all; read faster, or ask for a shorter answer.",
  ),
  "client.left": passing(499, "The client disconnected before the end of the answer."),
  "auth.missing": lasting(401, "The gateway requires a key, and the request has none; send one."),
  "auth.wrong": lasting(401, "The gateway does not have this key; check the key."),
  "auth.origin": lasting(
    403,
    "A browser page of another origin may have sent the request, and the gateway has no keys; set `server.keys` or `server.origins`.",
  ),
  "model.unknown": lasting(
    404,
    "No configured model or upstream has this name; choose a name that `/v1/models` lists.",
  ),
  "tools.name_clash": lasting(
    400,
    "Two tools would have the same name at the upstream; rename one of them.",
  ),
  "tools.too_many": lasting(
    400,
    "The request has more tools than the upstream accepts; declare fewer, or choose another model.",
    { elsewhere: true },
  ),
  "tools.refused": lasting(
    400,
    "The upstream's profile refuses tools of this kind; leave the tool out, or choose another model.",
    {
      elsewhere: true,
    },
  ),
  "tools.choice_unmet": lasting(
    400,
    "`tool_choice` names a tool that the request does not declare; declare it, or choose another.",
  ),
  "disclosure.rounds": lasting(
    502,
    "The model used all hidden rounds to look up folded tools and gave no answer; raise `tools.disclosure.rounds`, or declare fewer tools.",
  ),
  "thread.unknown": lasting(
    404,
    "No stored thread ends with this message; send the whole conversation.",
  ),
  "plan.unknown": lasting(
    404,
    "The gateway has no plan of this answer: it keeps those of the latest answers until a restart.",
  ),
  previous_response_not_found: lasting(
    400,
    "The response that the request continues is unknown, expired, deleted or another tenant's; send the whole conversation.",
  ),
  "item.not_found": lasting(
    400,
    "An item that the request refers to is unknown, expired, deleted or another tenant's; send the item itself.",
  ),
  "response.not_found": lasting(
    404,
    "The response is unknown, expired, deleted or another tenant's; check its id.",
  ),
  "response.cancelled": lasting(499, "A client cancelled the background response."),
  "response.not_background": lasting(
    400,
    "The response was not made in the background, so it can be neither cancelled nor streamed again; retrieve it without `stream`.",
  ),
  "response.lost": passing(
    503,
    "The gateway that made the background response stopped or cannot be reached; send the request again.",
  ),
  "plan.lossy": lasting(
    400,
    "Strictness is on, and the upstream would not get the whole request; leave out the fields that the message lists, or choose another model.",
  ),
  "completion.not_found": lasting(
    404,
    "The completion is unknown, expired, deleted or another tenant's; check its id.",
  ),
  "conversation.not_found": lasting(
    404,
    "The conversation is unknown, expired, deleted or another tenant's; check its id.",
  ),
  "conversation.item_not_found": lasting(
    404,
    "The conversation has no item with this id; check the id.",
  ),
  conversation_locked: passing(
    409,
    "Another turn of the same conversation is still running; try again after its end.",
  ),
  "compaction.sealed": lasting(
    400,
    "The gateway cannot open a compacted conversation: it was changed, is another tenant's, or is from a gateway with another store; compact it again.",
  ),
  "upstream.unreachable": passing(
    502,
    "The gateway cannot connect to the upstream; check its `base_url` and that it is running.",
  ),
  "upstream.connect_timeout": passing(
    504,
    "The upstream did not accept a connection in time; check its `base_url`, or raise `timeouts.connect`.",
  ),
  "upstream.busy": passing(
    503,
    "All connections to the upstream, or the tenant's share of them, were in use for too long; try again, or raise its `connections`.",
  ),
  "upstream.headers_timeout": passing(
    504,
    "The upstream accepted the request and did not answer in time; try again, or raise `timeouts.headers`.",
  ),
  "upstream.idle_timeout": passing(
    504,
    "The upstream stopped sending in the middle of the answer; try again, or raise `timeouts.idle`.",
  ),
  "upstream.cut": passing(
    502,
    "The upstream closed the connection before the end of the answer; try again.",
  ),
  "upstream.empty": passing(
    502,
    "The upstream sent an empty answer; try again, or choose another model.",
  ),
  "upstream.too_long": lasting(
    502,
    "The answer exceeds `server.answer_limit`, and the gateway stopped it; ask for less, or raise the limit.",
  ),
  "upstream.malformed": passing(
    502,
    "The upstream's answer is not valid in its dialect; try again, and check its `dialect` and `base_url`.",
  ),
  "upstream.format": passing(
    502,
    "The answer does not have the format that the client asked for; try again, or choose a model that enforces schemas.",
  ),
  "upstream.said_error": lasting(
    502,
    "The upstream reported an error inside its answer; the message quotes it.",
    {
      fromUpstream: true,
    },
  ),
  "upstream.refused": lasting(
    400,
    "The upstream rejected the request; the message quotes its reason.",
    { fromUpstream: true },
  ),
  "upstream.auth": lasting(401, "The upstream rejected its key; check its `api_key`.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.forbidden": lasting(
    403,
    "The upstream's key does not have permission for this request; check its `api_key`.",
    {
      elsewhere: true,
      fromUpstream: true,
    },
  ),
  "upstream.not_found": lasting(
    404,
    "The upstream has no such model or route; check the model's name and the `base_url`.",
    {
      elsewhere: true,
      fromUpstream: true,
    },
  ),
  "upstream.timeout": passing(
    408,
    "The upstream gave up the request after its own time limit; try again.",
    {
      type: "server_error",
      fromUpstream: true,
    },
  ),
  "upstream.too_large": lasting(413, "The request is too large for the upstream; send less.", {
    fromUpstream: true,
  }),
  "upstream.rate_limited": passing(429, "The upstream's rate limit is reached; try again later.", {
    fromUpstream: true,
  }),
  "upstream.quota": lasting(429, "The upstream's account has no credit or quota left; top it up.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.overloaded": passing(503, "The upstream is overloaded; try again later.", {
    fromUpstream: true,
  }),
  "upstream.failed": passing(502, "The upstream had an internal error; try again.", {
    fromUpstream: true,
  }),
  "agent.invalid": lasting(
    400,
    "The definition of an agent, section or tool, or a saved session, is not valid; the message names the error.",
  ),
  "agent.cancelled": passing(499, "The caller cancelled the agent's run."),
  "agent.deadline": passing(
    504,
    "The agent's run did not end before its deadline; set a later one.",
  ),
  "agent.budget": lasting(429, "The agent's run used up its tokens; raise `limits.tokens`."),
  "agent.rounds": lasting(
    508,
    "The agent's run reached its limit of model calls without an answer; raise `limits.rounds`.",
  ),
  "agent.output": passing(
    502,
    "The answer of the agent's run does not match its `output` schema; try again.",
  ),
  "store.unavailable": passing(
    503,
    "The gateway cannot reach the store, because its database is gone, locked or starting; the gateway tries again by itself.",
  ),
  "store.timeout": passing(504, "The store did not answer in time; try again."),
  "store.full": passing(503, "The disk of the store is full; free some space."),
  "store.unusable": lasting(
    500,
    "The store's database is damaged, belongs to another program, or is from a newer version; name another in `store`.",
  ),
  "store.refused": lasting(
    500,
    "The store cannot hold the turn, because an id is too long, a value is not JSON, or it has too many items.",
  ),
  "store.superseded": lasting(
    409,
    "The gateway did not store the turn, because its response or conversation was deleted meanwhile, or another process took it over.",
  ),
  "config.invalid": lasting(
    500,
    "The configuration has errors; the message lists each with its remedy.",
  ),
  "gateway.stopping": passing(503, "The gateway is shutting down; try again after its restart."),
  "limit.requests": passing(
    429,
    "The key has reached its limit of requests per minute; try again later.",
  ),
  "limit.tokens": passing(
    429,
    "The key has reached its limit of tokens per minute; try again later.",
  ),
  "limit.turns": passing(
    429,
    "The key has reached its limit of simultaneous turns; try again after the end of one.",
  ),
  "limit.bytes": passing(
    429,
    "The running turns of the key hold as many request bytes as its limit allows; try again after the end of one.",
  ),
  "gateway.busy": passing(
    503,
    "The gateway holds as many requests as its limits allow; try again in a moment.",
  ),
  "gateway.exhausted": passing(
    503,
    "The gateway has no file descriptors or memory left for another connection; try again, and raise its limits.",
  ),
  "gateway.internal": lasting(
    500,
    "The gateway has a bug; report it with the text in the log under the request id.",
  ),
} as const satisfies Record<string, FaultSpec>;
