import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileCache } from "../support/compile-cache.ts";

const HEAP_MB = 256;
/** Of everything that is stored. */
const STORED_MB = 15;
/** So many together want four times the heap. */
const PARALLEL = 64;
/** No bound of a fast machine: one that is busy with other things needs it. */
const SLOW_MS = 3000;
/** Characters of both ends of an answer. */
const KEPT = 2000;
const script = join(import.meta.dirname, "measured-gateway.ts");

type Got = { readonly status: number; readonly text: string; readonly ms: number };
type Look = { readonly blockedMs: number; readonly held: number };

let child: ChildProcess;
let exited: Promise<unknown[]>;
let url = "";
const folder = mkdtempSync(join(tmpdir(), "patchbay-large-"));

async function told<Message>(): Promise<Message> {
  const died = exited.then(([code, signal]) => {
    throw new Error(`the gateway died: ${String(code ?? signal)}`);
  });
  const [message] = (await Promise.race([once(child, "message"), died])) as [Message];
  return message;
}

function look(): Promise<Look> {
  const answer = told<Look>();
  if (child.connected) child.send("look");
  return answer;
}

/** With a connection of its own; of a long answer only the beginning and the end are kept. */
function ask(method: string, path: string, body?: object): Promise<Got> {
  const began = performance.now();
  const sent = body === undefined ? "" : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(sent),
    };
    const asking = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let [text, end] = ["", ""];
      response.setEncoding("latin1");
      response.on("data", (piece: string) => {
        if (text.length < KEPT) text += piece.slice(0, KEPT);
        end = (end + piece).slice(-KEPT);
      });
      response.on("error", reject);
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          text: text + end,
          ms: performance.now() - began,
        });
      });
    });
    asking.on("error", reject);
    asking.end(sent);
  });
}

const model = "demo/demo";
const messages = Array.from({ length: STORED_MB * 100 }, (_, at) => ({
  role: "user",
  content: `${at} ${"word ".repeat(1990)}`,
}));
const tools = Array.from({ length: 2000 }, (_, at) => ({
  type: "function",
  name: `tool_${at}`,
  description: "d".repeat(300),
  parameters: { type: "object", properties: {} },
}));

/** Makes something that is stored; its id. */
async function made(path: string, body: object): Promise<string> {
  const { status, text } = await ask("POST", path, { model, ...body });
  expect([path, status]).toEqual([path, 200]);
  // Waits for its write: the queue of a slow disk would refuse what comes next.
  await ask("GET", "/v1/chat/completions?limit=1");
  return /"id":"([^"]+)"/.exec(text)?.[1] ?? "";
}

const stored = {
  response: "",
  one: "",
  conversation: "",
  completion: "",
  thread: "",
  plan: "",
  item: "",
};

beforeAll(async () => {
  child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, script, join(folder, "store.db")],
    { env: { ...process.env, ...compileCache }, stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  exited = once(child, "exit");
  ({ url } = await told<{ url: string }>());
  stored.response = await made("/v1/responses", { input: messages });
  stored.one = await made("/v1/responses", { input: "x".repeat(STORED_MB * 1_000_000) });
  stored.conversation = await made("/v1/conversations", {});
  const { conversation } = stored;
  await made("/v1/responses", { input: messages, conversation });
  stored.completion = await made("/v1/chat/completions", { messages, store: true });
  stored.thread = await made("/v1/messages", {
    messages,
    max_tokens: 9,
    thread: { type: "create" },
  });
  stored.plan = await made("/v1/responses", { input: "Hi", tools });
  const list = await ask("GET", `/v1/conversations/${conversation}/items?limit=1&order=asc`);
  stored.item = /"first_id":"([^"]+)"/.exec(list.text)?.[1] ?? "";
}, 120_000);

afterAll(async () => {
  if (child.connected) child.disconnect();
  await exited;
  rmSync(folder, { recursive: true });
});

type Asked = readonly [method: string, path: string, body?: object];

/** Asks it so often at once, and for the health of the gateway meanwhile. */
async function crowd([method, path, body]: Asked): Promise<ReadonlyMap<number, number>> {
  await look();
  const state = { isOver: false, slowest: 0 };
  const watching = (async () => {
    while (!state.isOver) {
      const { status, ms } = await ask("GET", "/healthz");
      expect(status).toBe(200);
      state.slowest = Math.max(state.slowest, ms);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const got = await Promise.all(Array.from({ length: PARALLEL }, () => ask(method, path, body)));
  state.isOver = true;
  await watching;
  expect(state.slowest).toBeLessThan(SLOW_MS);
  const { blockedMs, held } = await look();
  expect(blockedMs).toBeLessThan(SLOW_MS);
  expect(held).toBe(0);
  const refused = got.filter(({ status }) => status >= 400);
  for (const { status, text } of refused) {
    const code = status === 409 ? "conversation_locked" : "gateway.busy";
    expect(text).toContain(code);
  }
  return new Map(
    Array.from(
      Map.groupBy(got, ({ status }) => status),
      ([status, all]) => [status, all.length],
    ),
  );
}

const previous = () => ({ model, input: "Hi", previous_response_id: stored.response });
const pages: Readonly<Record<string, () => string>> = {
  "the newest input item": () => `/v1/responses/${stored.response}/input_items?limit=1`,
  "the oldest input item": () => `/v1/responses/${stored.response}/input_items?limit=1&order=asc`,
  "a response": () => `/v1/responses/${stored.response}`,
  "an item of a conversation": () => `/v1/conversations/${stored.conversation}/items?limit=1`,
  "an item of a conversation by its id": () =>
    `/v1/conversations/${stored.conversation}/items/${stored.item}`,
  "stored completions": () => "/v1/chat/completions",
  "a stored completion": () => `/v1/chat/completions/${stored.completion}`,
  "a message of a completion": () => `/v1/chat/completions/${stored.completion}/messages?limit=1`,
};
const long: Readonly<Record<string, () => Asked>> = {
  "a page of input items": () => ["GET", `/v1/responses/${stored.response}/input_items?limit=100`],
  [`an input item of ${STORED_MB} MB`]: () => [
    "GET",
    `/v1/responses/${stored.one}/input_items?limit=1`,
  ],
  "a plan": () => ["GET", `/v1/plans/${stored.plan}`],
  "a turn that continues": () => ["POST", "/v1/responses", previous()],
  "a turn of a conversation": () => [
    "POST",
    "/v1/responses",
    { model, input: "Hi", conversation: stored.conversation },
  ],
  "a turn of a thread": () => [
    "POST",
    "/v1/messages",
    {
      model,
      max_tokens: 9,
      thread: { type: "continue", previous_message_id: stored.thread },
      messages: [{ role: "user", content: "Hi" }],
    },
  ],
  "a turn that refers to an item": () => [
    "POST",
    "/v1/responses",
    { model, input: [{ type: "item_reference", id: stored.item }], store: false },
  ],
  "a plan of a turn": () => ["POST", "/v1/plan", previous()],
  "a count of tokens": () => ["POST", "/v1/responses/input_tokens", previous()],
  "a summary": () => ["POST", "/v1/responses/compact", previous()],
};

describe(`a gateway with a heap of ${HEAP_MB} MB and ${STORED_MB} MB in everything that it has stored`, () => {
  it.each(Object.entries(pages))(`shows ${PARALLEL} clients at once %s`, async (_, path) => {
    expect(await crowd(["GET", path()])).toEqual(new Map([[200, PARALLEL]]));
  });

  it.each(Object.entries(long))(
    `gives ${PARALLEL} clients at once %s, or says that it is busy`,
    async (_, asked) => {
      const statuses = await crowd(asked());
      expect(statuses.get(200)).toBeGreaterThan(0);
    },
  );

  it("deletes it", async () => {
    const { response } = stored;
    const cancelled = await ask("POST", `/v1/responses/${response}/cancel`);
    expect(cancelled.text).toContain("response.not_background");
    expect((await ask("DELETE", `/v1/responses/${response}`)).status).toBe(200);
    expect((await ask("DELETE", `/v1/conversations/${stored.conversation}`)).status).toBe(200);
    expect((await ask("GET", pages["the newest input item"]?.() ?? "")).status).toBe(404);
  });
});
