import { upstreamFaults } from "./upstream-faults.ts";

export type FaultSpec = {
  /** The HTTP status at the door; a fault that carries its own overrides it. */
  readonly status: number;
  /** The `type` of an OpenAI error body. */
  readonly type:
    | "invalid_request_error"
    | "authentication_error"
    | "permission_error"
    | "not_found_error"
    | "rate_limit_error"
    | "server_error";
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  /** Whether another upstream may fare better though this one never will. */
  readonly elsewhere?: true;
  /** Whether it is what an upstream says of itself, and not that it cannot be heard. */
  readonly fromUpstream?: true;
  readonly what: string;
};

/** Every error this codebase raises on purpose. `docs/faults.md` is made from it. */
export const faults = {
  "request.not_json": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "The body is not JSON.",
  },
  "request.invalid": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "A field has the wrong type or value.",
  },
  "request.missing_model": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "No model is named.",
  },
  "request.too_large": {
    status: 413,
    type: "invalid_request_error",
    retry: false,
    what: "The body exceeds `server.body_limit`.",
  },
  "request.content_type": {
    status: 415,
    type: "invalid_request_error",
    retry: false,
    what: "The body is not declared as JSON.",
  },
  "request.encoding": {
    status: 415,
    type: "invalid_request_error",
    retry: false,
    what: "The body is packed in a way that is not read here.",
  },
  "request.method": {
    status: 405,
    type: "invalid_request_error",
    retry: false,
    what: "The route exists, but not for this method.",
  },
  "request.route": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "There is no such route.",
  },
  "request.websocket": {
    status: 426,
    type: "invalid_request_error",
    retry: false,
    what: "WebSockets are off, or the route has none; use HTTP.",
  },
  "request.unsupported": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    elsewhere: true,
    what: "The upstream cannot do what the field asks, and the answer would mean something else without it.",
  },
  "request.timeout": {
    status: 408,
    type: "invalid_request_error",
    retry: true,
    what: "The request did not arrive in time.",
  },
  "client.slow": {
    status: 408,
    type: "invalid_request_error",
    retry: true,
    what: "The answer was not read for too long, or slower than it came where the upstream could not be slowed down.",
  },
  "client.left": {
    status: 499,
    type: "invalid_request_error",
    retry: true,
    what: "The client left before the answer was over.",
  },
  "auth.missing": {
    status: 401,
    type: "authentication_error",
    retry: false,
    what: "The gateway needs a key and none was sent.",
  },
  "auth.wrong": {
    status: 401,
    type: "authentication_error",
    retry: false,
    what: "The key is not one of the gateway's.",
  },
  "auth.origin": {
    status: 403,
    type: "permission_error",
    retry: false,
    what: "A page from elsewhere asked in a browser, or might have, and the gateway has no keys.",
  },
  "model.unknown": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No configured model or upstream has this name.",
  },
  "tools.name_clash": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "Two tools would have the same name.",
  },
  "tools.too_many": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    elsewhere: true,
    what: "More tools than the upstream takes.",
  },
  "tools.refused": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    elsewhere: true,
    what: "The upstream's profile refuses tools of this kind.",
  },
  "tools.choice_unmet": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "The chosen tool is not among the declared ones.",
  },
  "disclosure.rounds": {
    status: 502,
    type: "server_error",
    retry: false,
    what: "The model asked about folded tools in as many hidden rounds as `tools.disclosure.rounds` allows, and gave no answer.",
  },
  "thread.unknown": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No thread is kept whose last answer has this id.",
  },
  "plan.unknown": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No plan is kept for this answer.",
  },
  previous_response_not_found: {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "The response that a request continues is not kept here: it is unknown, has expired, was deleted or is another tenant's.",
  },
  "item.not_found": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "An item that a request refers to is not kept here: it is unknown, has expired, was deleted or is another tenant's.",
  },
  "response.not_found": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No response is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  },
  "response.cancelled": {
    status: 499,
    type: "invalid_request_error",
    retry: false,
    what: "A response in the background was cancelled.",
  },
  "response.not_background": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "The response was not made in the background: it cannot be cancelled, and its stream cannot be taken up again.",
  },
  "response.lost": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The gateway that made a response in the background has stopped or cannot be reached; what was not over is lost.",
  },
  "plan.lossy": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "Strictness is on and the plan would lose something.",
  },
  "completion.not_found": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No completion is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  },
  "conversation.not_found": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "No conversation is kept under this id: it is unknown, has expired, was deleted or is another tenant's.",
  },
  "conversation.item_not_found": {
    status: 404,
    type: "not_found_error",
    retry: false,
    what: "A conversation has no item of this id.",
  },
  conversation_locked: {
    status: 409,
    type: "invalid_request_error",
    retry: true,
    what: "Another turn of the same conversation is under way.",
  },
  "compaction.sealed": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "A compacted conversation cannot be opened: it was changed, is another tenant's, or was sealed by a gateway with another store.",
  },
  ...upstreamFaults,
  "agent.invalid": {
    status: 400,
    type: "invalid_request_error",
    retry: false,
    what: "An agent, section, tool or saved session is not defined as it must be.",
  },
  "agent.cancelled": {
    status: 499,
    type: "invalid_request_error",
    retry: true,
    what: "The caller of an agent gave up.",
  },
  "agent.deadline": {
    status: 504,
    type: "server_error",
    retry: true,
    what: "An agent's run took longer than its deadline.",
  },
  "agent.budget": {
    status: 429,
    type: "rate_limit_error",
    retry: false,
    what: "An agent's run used up its tokens.",
  },
  "agent.rounds": {
    status: 508,
    type: "server_error",
    retry: false,
    what: "An agent's run asked the model as often as it may, and had no answer.",
  },
  "agent.output": {
    status: 502,
    type: "server_error",
    retry: true,
    what: "The answer of an agent's run is not what its `output` asks for.",
  },
  "store.unavailable": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The store cannot be reached: its database is gone, locked, or starting. It is tried again by itself.",
  },
  "store.timeout": {
    status: 504,
    type: "server_error",
    retry: true,
    what: "The store did not answer in time.",
  },
  "store.full": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The disk of the store is full: nothing can be written to it.",
  },
  "store.unusable": {
    status: 500,
    type: "server_error",
    retry: false,
    what: "The store's database is damaged, belongs to something else, or was made by a newer version.",
  },
  "store.refused": {
    status: 500,
    type: "server_error",
    retry: false,
    what: "What a turn left behind cannot be stored: an id is too long, or there are too many items.",
  },
  "store.superseded": {
    status: 409,
    type: "invalid_request_error",
    retry: false,
    what: "Nothing of a turn was stored: its response or conversation was deleted meanwhile, or another process took it over.",
  },
  "config.invalid": {
    status: 500,
    type: "server_error",
    retry: false,
    what: "The configuration has problems; each is listed with its remedy.",
  },
  "gateway.stopping": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The gateway is shutting down.",
  },
  "limit.requests": {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    what: "The key has sent as many requests as it may in a minute.",
  },
  "limit.tokens": {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    what: "The key has used as many tokens as it may in a minute.",
  },
  "limit.turns": {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    what: "The key has as many turns under way as it may.",
  },
  "limit.bytes": {
    status: 429,
    type: "rate_limit_error",
    retry: true,
    what: "The requests of the key's turns under way have as many bytes as they may.",
  },
  "gateway.busy": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The gateway holds as many arriving requests as it may.",
  },
  "gateway.exhausted": {
    status: 503,
    type: "server_error",
    retry: true,
    what: "The gateway itself has no file descriptors or memory left for another connection.",
  },
  "gateway.internal": {
    status: 500,
    type: "server_error",
    retry: false,
    what: "A fault of ours. The text is in the log, under the request id.",
  },
} as const satisfies Record<string, FaultSpec>;
