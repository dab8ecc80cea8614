import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The real Codex, which is a development dependency of this repository. */
export const codexCommand = fileURLToPath(
  new URL("../../node_modules/.bin/codex", import.meta.url),
);

export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "patchbay-example-"));
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 5 });
  return { path, [Symbol.asyncDispose]: remove };
}

type Body = {
  readonly messages?: readonly { readonly role: string }[];
  readonly input?: readonly { readonly type?: string }[];
  readonly tools?: readonly {
    readonly name?: string;
    readonly function?: { readonly name: string };
  }[];
  readonly prompt_cache_key?: string;
};

type Move = { readonly name: string; readonly arguments: string } | { readonly text: string };

/** The names of the tools that a request declared, and the thread that Codex named in it. */
export type Taken = { readonly tools: readonly string[]; readonly thread: string | undefined };

export type StandIn = AsyncDisposable & {
  readonly url: string;
  /** The requests since this was last asked. */
  takeRequests(): readonly Taken[];
};

/** A model that reads a section, searches and answers, over Chat Completions and Responses. */
export async function standInModel(): Promise<StandIn> {
  let requests: Taken[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const tools = (body.tools ?? []).map((one) => one.function?.name ?? one.name ?? "");
      requests.push({ tools, thread: body.prompt_cache_key });
      const move = nextMove(body, tools);
      const events = body.messages === undefined ? responsesEvents(move) : chatEvents(move);
      send(response, events);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString()) as Body;
}

function nextMove({ messages, input }: Body, tools: readonly string[]): Move {
  const results =
    messages?.filter(({ role }) => role === "tool") ??
    input?.filter(({ type }) => type === "function_call_output") ??
    [];
  const query = { query: "bees" };
  if (results.length === 0) return call("read_section", { key: "context" });
  if (results.length > 1)
    return { text: JSON.stringify({ answer: "Bees are insects.", sources: ["a1"] }) };
  return tools.includes("search")
    ? call("search", query)
    : call("call_tool", { name: "search", arguments: query });
}

const call = (name: string, value: unknown): Move => ({ name, arguments: JSON.stringify(value) });

let calls = 0;

function chatEvents(move: Move): readonly object[] {
  const delta =
    "text" in move
      ? { content: move.text }
      : {
          tool_calls: [{ index: 0, id: `call_${++calls}`, type: "function", function: move }],
        };
  const finish_reason = "text" in move ? "stop" : "tool_calls";
  const head = { id: "chat_1", object: "chat.completion.chunk", created: 1, model: "stand-in" };
  return [
    {
      ...head,
      choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }],
    },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason }] },
  ];
}

function responsesEvents(move: Move): readonly object[] {
  const id = `item_${++calls}`;
  const item =
    "text" in move
      ? {
          type: "message",
          id,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: move.text, annotations: [] }],
        }
      : { type: "function_call", id, call_id: `call_${calls}`, status: "completed", ...move };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const response = {
    id: `resp_${calls}`,
    object: "response",
    created_at: 1,
    model: "stand-in",
    status: "completed",
    output: [item],
    usage,
  };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
}

function send(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    if ("type" in event) response.write(`event: ${String(event.type)}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}
