import { expect, it } from "vitest";
import { crossProduct } from "../support/cross-product.ts";
import { answerInChat, answerInResponses, named } from "../support/fake-model.ts";
import { json, sse, type Answer, type Body } from "../support/fake-upstream.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** The id of a message, as chat services make them: JavaScript would round it. */
const LONG = "1234567890123456789";
const args = `{"id":${LONG}}`;
const calls = [{ id: "toolu_1", name: "look", arguments: args }];

/** The whole answer of a Messages model, in which arguments are a value. */
const wholeMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":${args}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`;

/** The same of a Gemini model. */
const geminiAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":${args}}}]},"finishReason":"STOP"}]}`;

function answer(path: string, body: Body): Answer {
  if (path.endsWith("/chat/completions")) return answerInChat(body, { calls });
  if (path.endsWith("/responses")) return answerInResponses(body, { calls });
  if (path.includes(":stream")) return sse(`data: ${geminiAnswer}\r\n\r\n`);
  if (path.includes(":generate")) return json(geminiAnswer);
  if (body["stream"] !== true) return json(wholeMessage);
  const message = { ...(JSON.parse(wholeMessage) as Body), content: [], stop_reason: null };
  const block = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  return sse(
    ...[
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: args },
      },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ].map(named),
  );
}
const here = sharedGateway(({ path, body }) => answer(path, body));

const schema = { type: "object", properties: { id: { type: "integer" } } };
/** A conversation in which the tool was called so before, as JSON text. */
const requests = {
  chat: {
    path: "/v1/chat/completions",
    text: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"c","content":"Seen."}],"tools":[{"type":"function","function":{"name":"look","parameters":${JSON.stringify(schema)}}}]`,
  },
  responses: {
    path: "/v1/responses",
    text: `"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c","name":"look","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"c","output":"Seen."}],"tools":[{"type":"function","name":"look","parameters":${JSON.stringify(schema)}}]`,
  },
  messages: {
    path: "/v1/messages",
    text: `"max_tokens":99,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"look","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"Seen."}]}],"tools":[{"name":"look","input_schema":${JSON.stringify(schema)}}]`,
  },
  gemini: {
    path: "/v1beta/models/{model}:{action}",
    text: `"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"look","args":${args}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"look","response":{"output":"Seen."}}}]}],"tools":[{"functionDeclarations":[{"name":"look","parametersJsonSchema":${JSON.stringify(schema)}}]}]`,
  },
} as const;
/** The answer, with the pieces of arguments put together behind it. */
const joined = (text: string): string =>
  text +
  [...text.matchAll(/"(?:partial_json|arguments|delta)":"((?:[^"\\]|\\.)*)"/g)]
    .map(([, piece]) => piece)
    .join("");

const names = ["chat", "responses", "messages", "gemini"] as const;

it.each(crossProduct({ door: names, up: names, stream: [true, false] }))(
  "a long number in arguments keeps its digits: $door door, $up upstream, stream $stream",
  async ({ door, up, stream }) => {
    const { path, text } = requests[door];
    const action = stream ? "streamGenerateContent?alt=sse" : "generateContent";
    const place = path.replace("{model}", `${up}/m`).replace("{action}", action);
    const head = door === "gemini" ? "" : `"model":"${up}/m","stream":${stream},`;
    const before = here.upstream.requests.length;
    const response = await fetch(here.served.url + place, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{${head}${text}}`,
    });
    expect(joined(await response.text())).toContain(LONG);
    expect(here.upstream.requests[before]?.text).toContain(LONG);
  },
);
