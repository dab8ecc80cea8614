/** Requests of every door's clients, with everything in them that clients were seen to send. */

import * as fc from "fast-check";
import type { Body } from "./fake-upstream.ts";

const ids = fc.constantFrom(
  "call_1",
  "call_2",
  "toolu_01A",
  "functions.read:0",
  "a|b/é",
  "x".repeat(90),
);
const names = fc.constantFrom(
  "read",
  "files.read",
  "files_read",
  "mcp__server__tool",
  "工具",
  "with space",
  "n".repeat(150),
  "web_search",
  "bash",
);
const groups = fc.constantFrom("mcp__lab", "git", "odd name", "g".repeat(80));
const texts = fc.constantFrom("Hi", "", "  ", "\n", "Grüße 👋🏽", "a\u2028b", "end ");
const inputs = fc.constantFrom("{}", "", "null", "[1]", '{"a":1}', '{"a":', "ls -la", '"{}"');

const png = "data:image/png;base64,iVBORw0KGgo=";
const images = fc.constantFrom(
  png,
  "https://example.org/a.png",
  "data:image/svg+xml;base64,PHN2Zy8+",
  "data:image/png,plain",
  "data:,",
  "file:///etc/passwd",
);
const files = fc.constantFrom(
  "data:application/pdf;base64,JVBERi0=",
  "data:text/plain;base64,SGk=",
  "data:text/plain;base64,",
  "data:application/zip;base64,UEs=",
  "JVBERi0=",
  "%%%",
);

/** Schemas as MCP servers and hand-written tools have them, of any draft. */
const schemas: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  { type: "object" },
  {},
  true,
  { type: "string" },
  { type: "array", items: { type: "string" } },
  { type: ["object", "null"], properties: { a: { type: "string" } } },
  { properties: { a: { type: "string" } } },
  { anyOf: [{ type: "object", properties: { a: {} } }, { type: "object" }] },
  {
    type: "object",
    oneOf: [{ required: ["a"] }, { required: ["b"] }],
    properties: { a: {}, b: {} },
  },
  { type: "object", allOf: [{ properties: { a: { type: "string" } } }] },
  { $ref: "#/$defs/it", $defs: { it: { type: "object", properties: { a: { type: "number" } } } } },
  { type: "object", properties: { "odd key!": { type: "string" }, ["k".repeat(80)]: {} } },
  {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { pair: { type: "array", items: [{ type: "string" }, { type: "number" }] } },
  },
  { type: "object", properties: { n: { type: "number", minimum: 0, exclusiveMinimum: true } } },
  { type: "object", properties: { a: { type: "string" } }, required: "a" },
  { type: "object", properties: { a: { type: "string", required: true } } },
  { type: "object", properties: { a: { type: "text" } } },
  { type: "object", properties: null },
  { type: "object", properties: { a: { type: "string", enum: [] } } },
  {
    type: "object",
    properties: { a: { $ref: "#/definitions/a" } },
    definitions: { a: { type: "string" } },
  },
  {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  },
  { type: "object", properties: { a: { type: "string", pattern: "[" } } },
  { type: "object", properties: { a: { anyOf: [] } } },
  { type: "object", dependencies: { a: ["b"] }, properties: { a: {}, b: {} } },
  { type: "object", properties: { a: { type: "string", nullable: true, example: "x" } } },
  { type: "object", properties: { a: { items: {}, additionalItems: false } } },
  { type: "object", properties: { a: { type: "string", minLength: "2" } } },
);

const strictSchemas: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  {
    type: "object",
    properties: { a: { type: "string", format: "date" } },
    required: ["a"],
    additionalProperties: false,
  },
  {
    type: "object",
    properties: {
      n: { type: "integer", minimum: 1, maximum: 9 },
      l: { type: "array", minItems: 3, items: { type: "string", maxLength: 3 } },
    },
    required: ["n", "l"],
    additionalProperties: false,
  },
  { type: "object", properties: { a: { type: "object", properties: {} } } },
  {
    $ref: "#/$defs/node",
    $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  },
);

const params = fc.record(
  {
    temperature: fc.constantFrom(0, 0.7, 1, 1.8),
    top_p: fc.constantFrom(0.2, 0.96, 1),
    parallel_tool_calls: fc.boolean(),
    user: fc.constantFrom("u", "u".repeat(300)),
    service_tier: fc.constantFrom("auto", "default", "flex", "priority"),
    seed: fc.constant(7),
    metadata: fc.constant({ a: "b" }),
    stream: fc.boolean(),
  },
  { requiredKeys: [] },
);
const efforts = fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max");
const limits = fc.constantFrom(1, 50, 1500, 40_000, 500_000);
const formats = fc.oneof(
  fc.constantFrom<Body>({ type: "text" }, { type: "json_object" }),
  strictSchemas.map((schema): Body => ({ type: "json_schema", name: "it", strict: true, schema })),
);
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(one, { nil: undefined });

/** Without what was not chosen. */
const given = (fields: Body): Body =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const functions = fc.record({
  name: names,
  description: maybe(texts),
  parameters: maybe(schemas),
  strict: maybe(fc.boolean()),
});

const chatParts = fc.oneof(
  texts.map((text): Body => ({ type: "text", text })),
  images.map((url): Body => ({ type: "image_url", image_url: { url } })),
  files.map((file_data): Body => ({ type: "file", file: { file_data, filename: "f" } })),
);
const chatContent = fc.oneof(texts, fc.array(chatParts, { maxLength: 3 }));
const chatCalls = fc
  .record({ id: ids, name: names, arguments: inputs })
  .map(({ id, ...fn }): Body => ({ id, type: "function", function: fn }));
const details = fc.constantFrom<Body>(
  { type: "reasoning.text", text: "hm", signature: "foreign", format: "anthropic-claude-v1" },
  { type: "reasoning.encrypted", data: "foreign", format: "anthropic-claude-v1" },
  { type: "reasoning.text", text: "hm" },
  { type: "reasoning.encrypted", data: "x", format: "openai-responses-v1" },
);
const chatMessages = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content: chatContent }),
  fc.record({ role: fc.constant("user"), content: texts, name: fc.constant("ann") }),
  fc
    .record({
      content: fc.oneof(texts, fc.constant(null)),
      tool_calls: maybe(fc.array(chatCalls, { minLength: 1, maxLength: 3 })),
      reasoning_content: maybe(texts),
      reasoning_details: maybe(fc.array(details, { minLength: 1, maxLength: 2 })),
    })
    .map((said): Body => given(Object.assign({ role: "assistant" }, said))),
  fc.record({ role: fc.constant("tool"), tool_call_id: ids, content: chatContent }),
);

/** A chat request, but for its model. */
export const chatRequests: fc.Arbitrary<Body> = fc
  .record({
    messages: fc.array(chatMessages, { minLength: 1, maxLength: 9 }),
    tools: maybe(fc.array(functions, { minLength: 1, maxLength: 4 })),
    tool_choice: maybe(fc.constantFrom("auto", "none", "required")),
    params,
    reasoning_effort: maybe(efforts),
    max_completion_tokens: maybe(limits),
    stop: maybe(fc.constantFrom<unknown>("x", ["\n", " "], ["a", "b"])),
    format: maybe(formats),
  })
  .map(({ tools, params: more, format, tool_choice, ...rest }) =>
    given({
      ...rest,
      ...more,
      tools: tools?.map((fn) => ({ type: "function", function: given(fn) })),
      tool_choice: tools === undefined ? undefined : tool_choice,
      response_format:
        format?.["type"] === "json_schema"
          ? { type: "json_schema", json_schema: { ...format, type: undefined } }
          : format,
    }),
  );

const inputParts = fc.oneof(
  texts.map((text): Body => ({ type: "input_text", text })),
  images.map((image_url): Body => ({ type: "input_image", image_url })),
  files.map((file_data): Body => ({ type: "input_file", file_data, filename: "f" })),
);
const inputContent = fc.oneof(texts, fc.array(inputParts, { maxLength: 3 }));
const outputs = fc.oneof(texts, fc.array(inputParts, { maxLength: 2 }));

const inputItems: fc.Arbitrary<Body> = fc.oneof(
  fc.record({
    type: fc.constant("message"),
    role: fc.constantFrom("system", "developer", "user"),
    content: inputContent,
  }),
  texts.map((text): Body => ({
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
  })),
  fc
    .record({ call_id: ids, name: names, arguments: inputs, namespace: maybe(groups) })
    .map((call): Body => given(Object.assign({ type: "function_call" }, call))),
  fc.record({ type: fc.constant("function_call_output"), call_id: ids, output: outputs }),
  fc.record({ type: fc.constant("custom_tool_call"), call_id: ids, name: names, input: texts }),
  fc.record({ type: fc.constant("custom_tool_call_output"), call_id: ids, output: outputs }),
  ids.map((call_id): Body => ({
    type: "local_shell_call",
    id: "lsh_1",
    call_id,
    status: "completed",
    action: { type: "exec", command: ["ls"], env: {} },
  })),
  fc.record({ type: fc.constant("local_shell_call_output"), id: ids, output: texts }),
  ids.map((call_id): Body => ({
    type: "shell_call",
    call_id,
    status: "completed",
    action: { commands: ["ls"] },
  })),
  ids.map((call_id): Body => ({
    type: "shell_call_output",
    call_id,
    output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
  })),
  ids.map((call_id): Body => ({
    type: "apply_patch_call",
    call_id,
    status: "completed",
    operation: { type: "create_file", path: "a", diff: "+a" },
  })),
  ids.map((call_id): Body => ({ type: "apply_patch_call_output", call_id, status: "completed" })),
  ids.map((call_id): Body => ({
    type: "tool_search_call",
    call_id,
    execution: "client",
    status: "completed",
    arguments: { query: "q" },
  })),
  fc
    .record({ call_id: ids, fns: fc.array(functions, { maxLength: 2 }) })
    .map(({ call_id, fns }): Body => ({
      type: "tool_search_output",
      call_id,
      execution: "client",
      status: "completed",
      tools: fns.map((fn) => ({ type: "function", ...given(fn), defer_loading: true })),
    })),
  fc.constantFrom<Body>(
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAB-foreign" },
    { type: "reasoning", id: "rs_2", summary: [{ type: "summary_text", text: "hm" }] },
    { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "so" }] },
    {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "hm" }],
      encrypted_content: 'patchbay:1:{"from":"other/m","encrypted":"s"}',
    },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
    {
      type: "mcp_call",
      id: "mcp_1",
      server_label: "lab",
      name: "look",
      arguments: "{}",
      output: "seen",
    },
    { type: "unheard_of", id: "x", more: 1 },
  ),
);

const responsesTools: fc.Arbitrary<Body> = fc.oneof(
  functions.map((fn): Body => ({ type: "function", ...given(fn) })),
  fc.record({ type: fc.constant("custom"), name: names }),
  fc.record({
    type: fc.constant("custom"),
    name: names,
    format: fc.constant({ type: "grammar", syntax: "lark", definition: 'start: "a"' }),
  }),
  fc
    .record({ name: groups, fns: fc.array(functions, { maxLength: 3 }) })
    .map(({ name, fns }): Body => ({
      type: "namespace",
      name,
      description: "d",
      tools: fns.map((fn) => ({ type: "function", ...given(fn) })),
    })),
  fc.constantFrom<Body>(
    { type: "local_shell" },
    { type: "shell", environment: { type: "local" } },
    { type: "apply_patch" },
    { type: "tool_search", execution: "client" },
    { type: "web_search", filters: { allowed_domains: ["example.org"] } },
    { type: "code_interpreter", container: { type: "auto" } },
    { type: "image_generation" },
    { type: "file_search", vector_store_ids: ["v"] },
    {
      type: "mcp",
      server_label: "lab",
      server_url: "https://example.org/mcp",
      require_approval: "never",
    },
  ),
);

/** A request of the Responses API, but for its model. */
export const responsesRequests: fc.Arbitrary<Body> = fc
  .record({
    input: fc.array(inputItems, { minLength: 1, maxLength: 9 }),
    instructions: maybe(texts),
    tools: maybe(fc.array(responsesTools, { minLength: 1, maxLength: 4 })),
    tool_choice: maybe(fc.constantFrom("auto", "none", "required")),
    params,
    effort: maybe(efforts),
    max_output_tokens: maybe(limits),
    format: maybe(formats),
  })
  .map(({ params: more, effort, format, tools, tool_choice, ...rest }) =>
    given({
      ...rest,
      ...more,
      tools,
      tool_choice: tools === undefined ? undefined : tool_choice,
      reasoning: effort === undefined ? undefined : { effort, summary: "auto" },
      text: format === undefined ? undefined : { format },
    }),
  );

const sourced = (url: string): Body => {
  const [, media_type = "", data = ""] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  return { source: data === "" ? { type: "url", url } : { type: "base64", media_type, data } };
};
const messageParts = fc.oneof(
  texts.map((text): Body => ({ type: "text", text, cache_control: { type: "ephemeral" } })),
  images.map((url): Body => Object.assign(sourced(url), { type: "image" })),
  files.map((url): Body => Object.assign(sourced(url), { type: "document", title: "f" })),
  texts.map((data): Body => ({
    type: "document",
    source: { type: "text", media_type: "text/plain", data },
  })),
);
const toolUses = fc.constantFrom<Body>({}, { a: 1 }, { $ref: "#/a" }, { a: [null, { b: "c" }] });
const messageResults = fc
  .record({
    tool_use_id: ids,
    content: maybe(fc.oneof(texts, fc.array(messageParts, { maxLength: 3 }))),
    is_error: maybe(fc.boolean()),
  })
  .map((result): Body => given(Object.assign({ type: "tool_result" }, result)));
const saidBlocks = fc.oneof(
  texts.map((text): Body => ({ type: "text", text })),
  fc
    .record({ id: ids, name: names, input: toolUses })
    .map((use): Body => Object.assign({ type: "tool_use" }, use)),
  fc.constantFrom<Body>(
    { type: "thinking", thinking: "hm", signature: "Zm9yZWlnbg==" },
    { type: "thinking", thinking: "", signature: 'patchbay:1:{"from":"other/m","encrypted":"s"}' },
    { type: "redacted_thinking", data: "Zm9yZWlnbg==" },
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
    {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [
        { type: "web_search_result", title: "T", url: "https://t.example", encrypted_content: "x" },
      ],
    },
  ),
);
const turnsOfMessages = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "assistant"), content: texts }),
  fc.record({
    role: fc.constant("user"),
    content: fc.array(fc.oneof(messageParts, messageResults), { maxLength: 4 }),
  }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.array(saidBlocks, { maxLength: 4 }),
  }),
  fc.record({ role: fc.constant("system"), content: texts }),
);
const messagesTools: fc.Arbitrary<Body> = fc.oneof(
  functions.map(({ name, description, parameters, strict }): Body =>
    given({ name, description, strict, input_schema: parameters ?? { type: "object" } }),
  ),
  fc.constantFrom<Body>(
    { type: "bash_20250124", name: "bash" },
    { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
    { type: "memory_20250818", name: "memory" },
    { type: "web_search_20250305", name: "web_search", blocked_domains: ["example.org"] },
    { type: "web_fetch_20250910", name: "web_fetch" },
    { type: "code_execution_20250825", name: "code_execution" },
    { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
  ),
);

/** A request of the Messages API, but for its model. */
export const messagesRequests: fc.Arbitrary<Body> = fc
  .record({
    messages: fc.array(turnsOfMessages, { minLength: 1, maxLength: 9 }),
    system: maybe(fc.oneof(texts, fc.array(texts.map((text) => ({ type: "text", text }))))),
    tools: maybe(fc.array(messagesTools, { minLength: 1, maxLength: 4 })),
    tool_choice: maybe(
      fc.record({
        type: fc.constantFrom("auto", "none", "any"),
        disable_parallel_tool_use: fc.boolean(),
      }),
    ),
    max_tokens: limits,
    thinking: maybe(
      fc.constantFrom<Body>(
        { type: "adaptive" },
        { type: "disabled" },
        { type: "enabled", budget_tokens: 100 },
        { type: "enabled", budget_tokens: 31_999, display: "summarized" },
      ),
    ),
    effort: maybe(fc.constantFrom("low", "medium", "high", "max")),
    format: maybe(strictSchemas),
    stop_sequences: maybe(fc.constantFrom<unknown>([], ["x"], ["a", "b", "c", "d", "e", "f"])),
    temperature: maybe(fc.constantFrom(0, 1)),
    top_k: maybe(fc.constantFrom(1, 40)),
    metadata: maybe(fc.constant({ user_id: "u" })),
    stream: maybe(fc.boolean()),
  })
  .map(({ effort, format, tools, tool_choice, ...rest }) =>
    given({
      ...rest,
      tools,
      tool_choice: tools === undefined ? undefined : tool_choice,
      output_config:
        effort === undefined && format === undefined
          ? undefined
          : given({
              effort,
              format: format === undefined ? undefined : { type: "json_schema", schema: format },
            }),
    }),
  );

/** Signatures as clients give them back: of another model, sealed, a stand-in, or none. */
const signatures = maybe(
  fc.constantFrom(
    "Zm9yZWlnbg==",
    "skip_thought_signature_validator",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
    btoa('patchbay:1:{"from":"other/m","encrypted":"s"}'),
  ),
);
const geminiNames = fc.constantFrom("read", "files.read", "mcp_my-lab_weather.now", "run:it");
const blobs = fc.constantFrom<Body>(
  { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
  { inline_data: { mime_type: "application/pdf", data: "JVBERi0=" } },
  { fileData: { mimeType: "video/mp4", fileUri: "gs://bucket/a.mp4" } },
);
const geminiCalls = fc
  .record({ id: maybe(ids), name: geminiNames, args: maybe(toolUses), signature: signatures })
  .map(({ signature: thoughtSignature, ...call }): Body =>
    given({ functionCall: given(call), thoughtSignature }),
  );
const geminiResults = fc
  .record({
    id: maybe(ids),
    name: geminiNames,
    response: fc.constantFrom<Body>({ output: "a" }, { error: "b" }, { result: [1] }, {}),
    parts: maybe(fc.array(blobs, { minLength: 1, maxLength: 1 })),
  })
  .map((functionResponse): Body => ({ functionResponse: given(functionResponse) }));
const contents = fc.oneof(
  fc.record({
    role: fc.constant("user"),
    parts: fc.array(
      fc.oneof(
        texts.map((text): Body => ({ text })),
        blobs,
        geminiResults,
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
  }),
  fc.record({
    role: fc.constant("model"),
    parts: fc.array(
      fc.oneof(
        geminiCalls,
        fc
          .record({ text: texts, thought: maybe(fc.constant(true)), thoughtSignature: signatures })
          .map(given),
        fc.constantFrom<Body>(
          { executableCode: { language: "PYTHON", code: "1" } },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
          { toolCall: { id: "t", toolType: "GOOGLE_SEARCH_WEB", args: {} } },
          { thoughtSignature: "Zm9yZWlnbg==" },
        ),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  }),
);
const protoSchemas = fc.constantFrom<Body>(
  { type: "OBJECT", properties: { a: { type: "STRING", nullable: true, maxLength: "5" } } },
  { type: "OBJECT", properties: { l: { type: "ARRAY", items: { type: "INTEGER" } } } },
  { type: "object", properties: { e: { type: "string", format: "enum", enum: ["a"] } } },
);
const geminiTools = fc.oneof(
  fc
    .record({
      name: geminiNames,
      schema: fc.oneof(
        schemas.map((parametersJsonSchema): Body => ({ parametersJsonSchema })),
        schemas.map((one): Body => ({ parameters_json_schema: one })),
        protoSchemas.map((parameters): Body => ({ parameters })),
      ),
    })
    .map(({ name, schema }): Body => ({
      functionDeclarations: [{ name, description: "d", ...schema }],
    })),
  fc.constantFrom<Body>({ googleSearch: {} }, { urlContext: {} }, { code_execution: {} }),
);

/** A request of Gemini's API. */
export const geminiRequests: fc.Arbitrary<Body> = fc
  .record({
    contents: fc.array(contents, { minLength: 1, maxLength: 7 }),
    systemInstruction: maybe(texts.map((text): Body => ({ role: "user", parts: [{ text }] }))),
    tools: maybe(fc.array(geminiTools, { minLength: 1, maxLength: 4 })),
    mode: maybe(fc.constantFrom("AUTO", "ANY", "NONE", "VALIDATED")),
    config: fc.record(
      {
        temperature: fc.constantFrom(0, 1, 2),
        topK: fc.constant(64),
        maxOutputTokens: limits,
        seed: fc.constant(7),
        stopSequences: fc.constant(["x"]),
        thinkingConfig: fc.constantFrom<Body>(
          { includeThoughts: true, thinkingLevel: "HIGH" },
          { thinkingLevel: "low" },
          { thinkingBudget: 0 },
          { thinkingBudget: 8192, includeThoughts: true },
          { thinking_budget: -1 },
        ),
      },
      { requiredKeys: [] },
    ),
    schema: maybe(strictSchemas),
  })
  .map(({ mode, config, schema, tools, ...rest }) =>
    given({
      ...rest,
      tools,
      toolConfig:
        mode !== undefined && tools?.some((one) => "functionDeclarations" in one)
          ? { functionCallingConfig: { mode } }
          : undefined,
      generationConfig: {
        ...config,
        ...(schema !== undefined && {
          responseMimeType: "application/json",
          responseJsonSchema: schema,
        }),
      },
    }),
  );
