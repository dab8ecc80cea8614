/** Writes the bundles of `test/bundles` anew: turns of our own against scripted streams. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "../src/index.ts";

type Scene = {
  readonly path: string;
  readonly dialect: string;
  readonly body: object;
  /** What the upstream sends, in these pieces; an object is a frame. */
  readonly says: readonly (object | string)[];
  readonly status?: number;
  /** The connection breaks where the pieces end. */
  readonly severed?: boolean;
  readonly expect?: object;
};

const look = {
  type: "function",
  name: "look",
  description: "Looks something up",
  parameters: { type: "object", properties: { place: { type: "string" } } },
};
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m-1",
  choices: [{ index: 0, delta, finish_reason }],
});
const args = (text: string, more: object = {}): object =>
  chunk({ tool_calls: [{ index: 0, ...more, function: { arguments: text, ...more } }] });
const asked = { model: "m", stream: true, input: "Where is the harbour?", tools: [look] };
const messages = [{ role: "user", content: "Where is the harbour?" }];
const { name, description, parameters } = look;
const contents = {
  contents: [{ role: "user", parts: [{ text: "Where is the harbour?" }] }],
  tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }],
};
const part = (said: object, finishReason?: string): object => ({
  candidates: [{ content: { parts: [said], role: "model" }, finishReason, index: 0 }],
  modelVersion: "m-1",
  responseId: "r",
});
const DONE = "data: [DONE]\n\n";

const scenes: Readonly<Record<string, Scene>> = {
  "responses-on-chat": {
    path: "/v1/responses",
    dialect: "chat",
    body: { ...asked, tools: [look, { type: "custom", name: "note" }] },
    says: [
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "Let me " }),
      chunk({ content: "look it up." }),
      args("", { id: "call_1", type: "function", name: "look" }),
      args('{"place":"har'),
      args('bour"}'),
      chunk({}, "tool_calls"),
      DONE,
    ],
  },
  "chat-on-chat-split-characters": {
    path: "/v1/chat/completions",
    dialect: "chat",
    body: { model: "m", stream: true, messages },
    says: [
      'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Gr\u00fc',
      '\u00dfe \u6771"}}]}\r\n\r\n',
      chunk({}, "stop"),
      DONE,
    ],
  },
  "responses-cut-in-a-call": {
    path: "/v1/responses",
    dialect: "chat",
    body: asked,
    says: [args("", { id: "call_1", type: "function", name: "look" }), args('{"place":"har')],
    severed: true,
    expect: { fault: "upstream", shown: ["response.failed"] },
  },
  "chat-refused-by-upstream": {
    path: "/v1/chat/completions",
    dialect: "chat",
    body: { model: "m", messages },
    status: 400,
    says: ['{"error":{"message":"No such parameter","type":"invalid_request_error"}}'],
    expect: { fault: "upstream" },
  },
  "chat-whole-on-responses": {
    path: "/v1/chat/completions",
    dialect: "responses",
    body: { model: "m", messages, tools: [{ type: "function", function: { name: "look" } }] },
    says: [
      JSON.stringify({
        id: "resp_1",
        object: "response",
        status: "completed",
        model: "m-1",
        output: [
          {
            type: "function_call",
            id: "fc_1",
            call_id: "call_1",
            name: "look",
            arguments: '{"place":"harbour"}',
            status: "completed",
          },
        ],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      }),
    ],
  },
  "gemini-on-chat": {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    dialect: "chat",
    body: contents,
    says: [
      chunk({ content: "Let me look." }),
      args("", { id: "call_1", type: "function", name: "look" }),
      args('{"place":"harbour"}'),
      chunk({}, "tool_calls"),
      DONE,
    ],
  },
  "gemini-list-on-gemini": {
    path: "/v1beta/models/m:streamGenerateContent",
    dialect: "gemini",
    body: contents,
    says: [
      part({ text: "Hm.", thought: true }),
      part({ text: "By the sea." }),
      part({ text: "", thoughtSignature: "c2lnbmVk" }, "STOP"),
    ],
  },
  "chat-unreadable": {
    path: "/v1/chat/completions",
    dialect: "chat",
    body: { model: "m", messages: "none" },
    says: [],
    expect: { fault: "client" },
  },
};

async function bundleOf({
  path,
  dialect,
  body,
  says,
  status = 200,
  severed,
  expect,
}: Scene): Promise<string> {
  const isBody = typeof says[0] === "string" && says[0].startsWith("{");
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const type = isBody ? "application/json" : "text/event-stream";
      response.writeHead(status, { "content-type": type });
      for (const one of says)
        response.write(typeof one === "string" ? one : `data: ${JSON.stringify(one)}\n\n`);
      if (severed === true) setTimeout(() => response.destroy(), 50);
      else response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bundles-"));
  const gateway = createGateway({
    upstreams: { fake: { dialect, base_url: `http://127.0.0.1:${port}/v1`, retries: 0 } },
    models: { "*": "fake/*" },
    telemetry: { recording: "all" },
    recording: { folder },
  });
  const request = new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "turn" },
    body: JSON.stringify(body),
  });
  await (await gateway.fetch(request)).text();
  await gateway.close(1000);
  server.closeAllConnections();
  server.close();
  const [name = ""] = readdirSync(folder);
  const text = readFileSync(join(folder, name), "utf8");
  rmSync(folder, { recursive: true });
  return expect === undefined ? text : `${text}${JSON.stringify({ line: "expect", ...expect })}\n`;
}

const folder = join(import.meta.dirname, "..", "test", "bundles");
for (const [name, scene] of Object.entries(scenes))
  writeFileSync(join(folder, `${name}.bundle.jsonl`), await bundleOf(scene));
