import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * Plays an app-server for what the real one does too rarely to be tested: the
 * name of the model says how it misbehaves.
 */
type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly model?: string; readonly threadId?: string };
};

const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const models = new Map<string, string>();
let threads = 0;
const [, , version] = process.argv;

function answer(threadId: string): void {
  const turnId = "turn_1";
  const item = {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: `I am ${threadId}.` }],
  };
  say({ method: "turn/started", params: { threadId, turn: { id: turnId } } });
  say({ method: "rawResponseItem/completed", params: { threadId, turnId, item } });
  say({
    method: "turn/completed",
    params: { threadId, turn: { id: turnId, status: "completed" } },
  });
}

/** Answers once there is a file `go` in its home. */
function answerLater(threadId: string): void {
  const timer = setInterval(() => {
    if (!existsSync(join(process.env["CODEX_HOME"] ?? "", "go"))) return;
    clearInterval(timer);
    answer(threadId);
  }, 10);
}

function misbehave(model: string, threadId: string): void {
  if (model === "garbage") process.stdout.write('not json\n{"half":\n[1]\nnull\n\n{}\n\u0000\n');
  if (model === "strangers") {
    const params = { threadId: "somebody-else", itemId: "x", delta: "not yours" };
    say({ method: "item/agentMessage/delta", params });
    say({ method: "item/unheard-of", id: 77, params: { threadId } });
  }
  if (model.startsWith("limits-")) {
    const primary = { usedPercent: Number(model.slice(7)), windowDurationMins: 300, resetsAt: 1 };
    const secondary = { usedPercent: 3, windowDurationMins: 10_080, resetsAt: null };
    say({ method: "account/rateLimits/updated", params: { rateLimits: { primary, secondary } } });
  }
  if (model === "noisy") process.stderr.write("a secret of the client's\n");
}

const hear: Record<string, (message: Message) => void> = {
  initialize: ({ id }) => {
    if (version === "none") process.stdout.write("What?\n");
    else say({ id, result: { userAgent: `patchbay/${version} (stand-in)` } });
  },
  "account/read": ({ id }) => say({ id, result: { account: { type: "chatgpt" } } }),
  "thread/start": ({ id, params }) => {
    if (params?.model === "mute") return;
    const thread = { id: `thread_${++threads}` };
    models.set(thread.id, params?.model ?? "");
    say({ id, result: { thread } });
  },
  "thread/inject_items": ({ id }) => say({ id, result: {} }),
  "turn/start": ({ id, params }) => {
    const threadId = params?.threadId ?? "";
    const model = models.get(threadId) ?? "";
    if (model === "overloaded" && !models.has("calmed")) {
      models.set("calmed", "");
      return say({ id, error: { code: -32001, message: "Server overloaded; retry later." } });
    }
    misbehave(model, threadId);
    say({ id, result: { turn: { id: "turn_1" } } });
    if (model === "held") answerLater(threadId);
    else if (model !== "silent") answer(threadId);
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  const served = hear[message.method ?? ""];
  if (served !== undefined) served(message);
  else if (message.id !== undefined && message.method !== undefined)
    say({ id: message.id, result: {} });
});
