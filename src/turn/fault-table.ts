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

/** Every error this codebase raises on purpose. `docs/faults.md` is made from it. */
export const faults = {
  "request.not_json": lasting(400, "The body is not JSON."),
  "request.invalid": lasting(400, "A field has the wrong type or value."),
  "request.missing_model": lasting(400, "No model is named."),
  "request.too_large": lasting(413, "The body exceeds `server.body_limit`."),
  "request.content_type": lasting(415, "The body is not declared as JSON."),
  "request.encoding": lasting(415, "The body is packed in a way that is not read here."),
  "request.method": lasting(405, "The route exists, but not for this method."),
  "request.route": lasting(404, "There is no such route."),
  "request.websocket": lasting(426, "WebSockets are off, or the route has none; use HTTP."),
  "request.unsupported": lasting(
    400,
    "The upstream cannot do what the field asks, and the answer would mean something else without it.",
    { elsewhere: true },
  ),
  "request.timeout": passing(408, "The request did not arrive in time."),
  "client.slow": passing(
    408,
    "The answer was not read for too long, or slower than it came where the upstream could not be slowed down.",
  ),
  "client.left": passing(499, "The client left before the answer was over."),
  "auth.missing": lasting(401, "The gateway needs a key and none was sent."),
  "auth.wrong": lasting(401, "The key is not one of the gateway's."),
  "auth.origin": lasting(
    403,
    "A page from elsewhere asked in a browser, or might have, and the gateway has no keys.",
  ),
  "model.unknown": lasting(404, "No configured model or upstream has this name."),
  "tools.name_clash": lasting(400, "Two tools would have the same name."),
  "tools.too_many": lasting(400, "More tools than the upstream takes.", { elsewhere: true }),
  "tools.refused": lasting(400, "The upstream's profile refuses tools of this kind.", {
    elsewhere: true,
  }),
  "tools.choice_unmet": lasting(400, "The chosen tool is not among the declared ones."),
  "disclosure.rounds": lasting(
    502,
    "The model asked about folded tools in as many hidden rounds as `tools.disclosure.rounds` allows, and gave no answer.",
  ),
  "thread.unknown": lasting(404, "No thread is kept whose last answer has this id."),
  "plan.unknown": lasting(404, "No plan is kept for this answer."),
  previous_response_not_found: lasting(
    400,
    "The response that a request continues is not kept here: it is unknown, has expired, was deleted or is another tenant's.",
  ),
  "item.not_found": lasting(
    400,
    "An item that a request refers to is not kept here: it is unknown, has expired, was deleted or is another tenant's.",
  ),
  "response.not_found": lasting(
    404,
    "No response is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  ),
  "response.cancelled": lasting(499, "A response in the background was cancelled."),
  "response.not_background": lasting(
    400,
    "The response was not made in the background: it cannot be cancelled, and its stream cannot be taken up again.",
  ),
  "response.lost": passing(
    503,
    "The gateway that made a response in the background has stopped or cannot be reached; what was not over is lost.",
  ),
  "plan.lossy": lasting(400, "Strictness is on and the plan would lose something."),
  "completion.not_found": lasting(
    404,
    "No completion is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  ),
  "conversation.not_found": lasting(
    404,
    "No conversation is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  ),
  "conversation.item_not_found": lasting(404, "A conversation has no item of this id."),
  conversation_locked: passing(409, "Another turn of the same conversation is under way."),
  "compaction.sealed": lasting(
    400,
    "A compacted conversation cannot be opened: it was changed, is another tenant's, or was sealed by a gateway with another store.",
  ),
  "upstream.unreachable": passing(502, "No connection to the upstream."),
  "upstream.connect_timeout": passing(504, "The upstream did not accept a connection in time."),
  "upstream.busy": passing(
    503,
    "All connections to the upstream, or the tenant's share of them, were in use for too long.",
  ),
  "upstream.headers_timeout": passing(
    504,
    "The upstream accepted the request and did not answer in time.",
  ),
  "upstream.idle_timeout": passing(504, "The upstream fell silent in mid-answer."),
  "upstream.cut": passing(502, "The upstream closed the stream before the answer was over."),
  "upstream.empty": passing(502, "The upstream answered with nothing."),
  "upstream.too_long": lasting(
    502,
    "The answer exceeds `server.answer_limit` and was ended there.",
  ),
  "upstream.malformed": passing(502, "The upstream's answer cannot be read."),
  "upstream.format": passing(502, "The answer does not have the format the client asked for."),
  "upstream.said_error": lasting(502, "The upstream reported an error inside its answer.", {
    fromUpstream: true,
  }),
  "upstream.refused": lasting(400, "The upstream rejected the request.", { fromUpstream: true }),
  "upstream.auth": lasting(401, "The upstream rejected its key.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.forbidden": lasting(403, "The upstream's key may not do this.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.not_found": lasting(404, "The upstream has no such model or route.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.timeout": passing(408, "The upstream gave up waiting.", {
    type: "server_error",
    fromUpstream: true,
  }),
  "upstream.too_large": lasting(413, "The upstream found the request too large.", {
    fromUpstream: true,
  }),
  "upstream.rate_limited": passing(429, "The upstream asks to slow down.", { fromUpstream: true }),
  "upstream.quota": lasting(429, "The upstream's account has no credit or quota left.", {
    elsewhere: true,
    fromUpstream: true,
  }),
  "upstream.overloaded": passing(503, "The upstream is overloaded.", { fromUpstream: true }),
  "upstream.failed": passing(502, "The upstream had an internal error.", { fromUpstream: true }),
  "agent.invalid": lasting(
    400,
    "An agent, section, tool or saved session is not defined as it must be.",
  ),
  "agent.cancelled": passing(499, "The caller of an agent gave up."),
  "agent.deadline": passing(504, "An agent's run took longer than its deadline."),
  "agent.budget": lasting(429, "An agent's run used up its tokens."),
  "agent.rounds": lasting(
    508,
    "An agent's run asked the model as often as it may, and had no answer.",
  ),
  "agent.output": passing(502, "The answer of an agent's run is not what its `output` asks for."),
  "store.unavailable": passing(
    503,
    "The store cannot be reached: its database is gone, locked, or starting. It is tried again by itself.",
  ),
  "store.timeout": passing(504, "The store did not answer in time."),
  "store.full": passing(503, "The disk of the store is full: nothing can be written to it."),
  "store.unusable": lasting(
    500,
    "The store's database is damaged, belongs to something else, or was made by a newer version.",
  ),
  "store.refused": lasting(
    500,
    "What a turn left behind cannot be stored: an id is too long, or there are too many items.",
  ),
  "store.superseded": lasting(
    409,
    "Nothing of a turn was stored: its response or conversation was deleted meanwhile, or another process took it over.",
  ),
  "config.invalid": lasting(500, "The configuration has problems; each is listed with its remedy."),
  "gateway.stopping": passing(503, "The gateway is shutting down."),
  "limit.requests": passing(429, "The key has sent as many requests as it may in a minute."),
  "limit.tokens": passing(429, "The key has used as many tokens as it may in a minute."),
  "limit.turns": passing(429, "The key has as many turns under way as it may."),
  "limit.bytes": passing(
    429,
    "The requests of the key's turns under way have as many bytes as they may.",
  ),
  "gateway.busy": passing(503, "The gateway holds as many arriving requests as it may."),
  "gateway.exhausted": passing(
    503,
    "The gateway itself has no file descriptors or memory left for another connection.",
  ),
  "gateway.internal": lasting(
    500,
    "A fault of ours. The text is in the log, under the request id.",
  ),
} as const satisfies Record<string, FaultSpec>;
