/**
 * Runs the core entry where there is nothing of Node: a context with the
 * globals that Bun, Deno and workers share. `node --experimental-vm-modules
 * bare-runtime.ts URL` asks the chat server at that URL through a gateway and
 * prints what the clients got, a line of JSON each.
 */
import { fileURLToPath } from "node:url";
import { createContext, SourceTextModule, type Context, type Module } from "node:vm";
import { readModule, resolveModule } from "../support/module-graph.ts";

const core = fileURLToPath(new URL("../../src/core.ts", import.meta.url));

/** What every runtime has by the standards of the Web. */
const web = {
  AbortController,
  Blob,
  CompressionStream,
  DecompressionStream,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  atob,
  btoa,
  clearTimeout,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setTimeout,
};

const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const context = createContext({ ...web, print, base: process.argv[2] });

const modules = new Map<string, SourceTextModule>();
function load(path: string, into: Context): SourceTextModule {
  const known = modules.get(path);
  if (known !== undefined) return known;
  const made = new SourceTextModule(readModule(path), { identifier: path, context: into });
  modules.set(path, made);
  return made;
}

const link = (specifier: string, from: Module): Module =>
  load(specifier === "patchbay/core" ? core : resolveModule(specifier, from.identifier), context);

const client = `
import { createGateway, defineUpstream } from "patchbay/core";

const nodeOnly = ["process", "Buffer", "require", "setImmediate", "global"].filter((name) => name in globalThis);
print({ nodeOnly });

const happenings = [];
const echo = defineUpstream({
  name: "echo",
  async *answer(turn) {
    yield { type: "text-delta", choice: 0, text: "own " + turn.items.length };
  },
});
const gateway = createGateway(
  {
    server: { keys: [{ name: "me", key: "secret-key" }] },
    upstreams: {
      chat: { dialect: "chat", base_url: base },
      actor: { dialect: "scripted", script: [["Scripted."]] },
    },
    models: { m: "chat/m", own: "echo/e", actor: "actor/a" },
  },
  { upstreams: [echo], report: (happening) => happenings.push(happening.type) },
);

async function ask(path, body, more = {}) {
  const headers = { "content-type": "application/json", authorization: "Bearer secret-key", ...more };
  const request = new Request("http://gateway" + path, {
    method: "POST",
    headers,
    body: body instanceof Blob ? body : JSON.stringify(body),
  });
  const response = await gateway.fetch(request);
  const text = await response.text();
  print({ path, status: response.status, text });
}

const tools = [
  { type: "function", name: "look", parameters: { type: "object", properties: { at: { type: "number" } } } },
  { type: "custom", name: "note" },
];
for (const stream of [true, false]) {
  const messages = [{ role: "user", content: "Hi" }];
  const functions = [{ type: "function", function: { name: "look" } }];
  await ask("/v1/chat/completions", { model: "m", stream, messages, tools: functions });
  await ask("/v1/responses", { model: "m", stream, input: "Hi", tools });
}
await ask("/v1/responses", { model: "own", input: "Hi" });
await ask("/v1/responses", { model: "actor", input: "Hi" });
await ask("/v1/responses", { model: "m", input: "Hi" }, { authorization: "Bearer wrong" });

const packed = new Blob([JSON.stringify({ model: "own", input: "Hi" })]);
const gzip = await new Response(packed.stream().pipeThrough(new CompressionStream("gzip"))).blob();
await ask("/v1/responses", gzip, { "content-encoding": "gzip" });
await ask("/v1/responses", gzip, { "content-encoding": "br" });

for (const config of [
  { upstreams: { c: { dialect: "codex" } } },
  { telemetry: { usage_log: "usage.ndjson" } },
])
  try {
    createGateway(config);
  } catch (error) {
    print({ refused: error.message });
  }
await gateway.close();
print({ turns: happenings.filter((type) => type === "turn").length });
`;

const entry = new SourceTextModule(client, { identifier: core, context });
await entry.link(link);
await entry.evaluate();
