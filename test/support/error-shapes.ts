/** What an error says, and how an upstream of each kind says it. */
export type ErrorShape = readonly [
  who: string,
  body: unknown,
  said: {
    readonly message?: string;
    readonly code?: string;
    readonly type?: string;
    readonly param?: string;
    readonly status?: number;
  },
];

export const errorShapes: readonly ErrorShape[] = [
  [
    "OpenAI",
    { error: { message: "m", type: "t", param: "p", code: "c" } },
    { message: "m", type: "t", param: "p", code: "c" },
  ],
  [
    "OpenAI without a code",
    { error: { message: "m", type: "invalid_request_error", param: null, code: null } },
    { message: "m", type: "invalid_request_error" },
  ],
  [
    "Azure's filter",
    { error: { message: "m", code: "content_filter", status: 400, innererror: { code: "x" } } },
    { message: "m", code: "content_filter", status: 400 },
  ],
  ["Azure's gate", { statusCode: 401, message: "m" }, { message: "m", status: 401 }],
  [
    "Azure's number as a text",
    { error: { code: "404", message: "m" } },
    { message: "m", status: 404 },
  ],
  [
    "Anthropic",
    { type: "error", error: { type: "overloaded_error", message: "m" }, request_id: "r" },
    { message: "m", type: "overloaded_error" },
  ],
  [
    "Gemini",
    [{ error: { code: 400, message: "m", status: "INVALID_ARGUMENT", details: [{ a: 1 }] } }],
    { message: "m", code: "INVALID_ARGUMENT", status: 400 },
  ],
  [
    "Mistral's validation",
    {
      object: "error",
      message: { detail: [{ type: "missing", loc: ["body", "model"], msg: "Field required" }] },
      type: "invalid_request_error",
      param: null,
      code: null,
    },
    { message: "model: Field required", type: "invalid_request_error", param: "model" },
  ],
  ["Mistral", { detail: "m", request_id: "r" }, { message: "m" }],
  [
    "FastAPI",
    {
      detail: [
        { loc: ["body", "messages", 0, "role"], msg: "bad" },
        { loc: ["body"], msg: "worse" },
      ],
    },
    { message: "messages.0.role: bad; worse", param: "messages.0.role" },
  ],
  [
    "pydantic alone",
    { message: "Invalid", detail: [{ loc: ["tools", 1], msg: "bad" }] },
    { message: "Invalid: tools.1: bad", param: "tools.1" },
  ],
  [
    "vLLM",
    { object: "error", message: "m", type: "BadRequestError", param: "p", code: 400 },
    { message: "m", type: "BadRequestError", param: "p", status: 400 },
  ],
  [
    "OpenRouter",
    {
      error: {
        message: "Provider returned error",
        code: 429,
        metadata: { raw: '{"error":{"message":"slow down","code":"busy","param":"p"}}' },
      },
      user_id: "u",
    },
    { message: "Provider returned error: slow down", code: "busy", param: "p", status: 429 },
  ],
  [
    "OpenRouter with plain words",
    {
      error: { message: "Provider returned error", code: 502, metadata: { raw: "upstream gone" } },
    },
    { message: "Provider returned error: upstream gone", status: 502 },
  ],
  ["Ollama", { error: "model 'x' not found" }, { message: "model 'x' not found" }],
  ["Cohere", { id: "i", message: "m" }, { message: "m" }],
  [
    "Bedrock",
    { __type: "com.amazon.coral.validate#ValidationException", Message: "m" },
    { message: "m", code: "ValidationException" },
  ],
  [
    "Cloudflare",
    { success: false, errors: [{ code: 7003, message: "m" }], messages: [], result: null },
    { message: "m", code: "7003" },
  ],
  ["TGI", { error: "m", error_type: "validation" }, { message: "m", type: "validation" }],
  ["a hub", { error: ["m", "k"] }, { message: "m; k" }],
  ["xAI", { code: "No such thing", error: "m" }, { message: "m", code: "No such thing" }],
  [
    "DashScope",
    { code: "InvalidParameter", message: "m" },
    { message: "m", code: "InvalidParameter" },
  ],
  [
    "MiniMax",
    { base_resp: { status_code: 1004, status_msg: "m" } },
    { message: "m", code: "1004" },
  ],
  ["Baidu", { error_code: 17, error_msg: "m" }, { message: "m", code: "17" }],
  [
    "a problem document",
    { type: "about:blank", title: "Forbidden", status: 403, detail: "m" },
    { message: "m", status: 403 },
  ],
  ["a problem without detail", { title: "m", status: 403 }, { message: "m", status: 403 }],
  [
    "Spring",
    { timestamp: "t", status: 404, error: "Not Found", message: "m", path: "/" },
    { message: "m", status: 404 },
  ],
  [
    "Apigee",
    { fault: { faultstring: "m", detail: { errorcode: "oauth.Failed" } } },
    { message: "m", code: "oauth.Failed" },
  ],
  [
    "one that wraps another's",
    { error: { message: '{"error":{"message":"m","code":"c"}}' } },
    { message: "m", code: "c" },
  ],
  [
    "one whose words stand outside",
    { error: { message: null, code: "c" }, message: "m" },
    { message: "m", code: "c" },
  ],
  [
    "one without words",
    { error: { type: "usage_limit_reached" } },
    { type: "usage_limit_reached" },
  ],
];
