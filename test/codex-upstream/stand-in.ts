import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * Plays an app-server for what the real one does too rarely to be tested: the
 * name of the model says how it misbehaves. A model `reads-KEY` reads the
 * section KEY, calls `search`, and then says which tools each thread had. A model `echo` repeats
 * what it was told last.
 */
type Message = {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly model?: string;
    readonly threadId?: string;
    readonly dynamicTools?: readonly { readonly name: string }[];
    readonly items?: readonly {
      readonly type: string;
      readonly content?: readonly { readonly text?: string }[];
    }[];
  };
};

const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const models = new Map<string, string>();
let threads = 0;
const [, , version] = process.argv;

/** The names of the tools that each thread was started with. */
const declared = new Map<string, readonly string[]>();
/** The text that each thread received last. */
const told = new Map<string, string>();
/** The number of call results that each thread received. */
const results = new Map<string, number>();
const turnId = "turn_1";

/** Makes the next move of a model that reads a section. */
function read(key: string, threadId: string): void {
  const given = results.get(threadId) ?? 0;
  if (given > 1) return answer(threadId, JSON.stringify(Object.fromEntries(declared)));
  const [name, input] = given === 0 ? ["read_section", { key }] : ["search", { text: "x" }];
  const call_id = `call_${threadId}_${given}`;
  const item = { type: "function_call", call_id, name, arguments: JSON.stringify(input) };
  say({ method: "rawResponseItem/completed", params: { threadId, turnId, item } });
  const params = { threadId, turnId, callId: call_id, tool: name, arguments: input };
  say({ id: `asks:${threadId}`, method: "item/tool/call", params });
  say({ method: "rawResponse/completed", params: { threadId, turnId } });
}

const resultsIn = ({ params }: Message): number =>
  params?.items?.filter(({ type }) => type === "function_call_output").length ?? 0;

function answer(threadId: string, text = `I am ${threadId}.`): void {
  const item = { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
  say({ method: "rawResponseItem/completed", params: { threadId, turnId, item } });
  say({
    method: "turn/completed",
    params: { threadId, turn: { id: turnId, status: "completed" } },
  });
}

/** Makes a file `held` in its home, and answers once there is a file `go`. */
function answerLater(threadId: string): void {
  const home = process.env["CODEX_HOME"] ?? "";
  writeFileSync(join(home, "held"), "");
  const timer = setInterval(() => {
    if (!existsSync(join(home, "go"))) return;
    clearInterval(timer);
    say({ method: "turn/started", params: { threadId, turn: { id: turnId } } });
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
    declared.set(
      thread.id,
      (params?.dynamicTools ?? []).map(({ name }) => name),
    );
    say({ id, result: { thread } });
  },
  "thread/inject_items": (message) => {
    results.set(message.params?.threadId ?? "", resultsIn(message));
    told.set(
      message.params?.threadId ?? "",
      message.params?.items?.at(-1)?.content?.[0]?.text ?? "",
    );
    say({ id: message.id, result: {} });
  },
  "turn/start": ({ id, params }) => {
    const threadId = params?.threadId ?? "";
    const model = models.get(threadId) ?? "";
    if (model === "overloaded" && !models.has("calmed")) {
      models.set("calmed", "");
      return say({ id, error: { code: -32001, message: "Server overloaded; retry later." } });
    }
    misbehave(model, threadId);
    say({ id, result: { turn: { id: "turn_1" } } });
    if (model === "silent") return;
    if (model === "held") return answerLater(threadId);
    say({ method: "turn/started", params: { threadId, turn: { id: turnId } } });
    if (model.startsWith("reads-")) read(model.slice(6), threadId);
    else if (model === "echo") answer(threadId, `${told.get(threadId)} ${process.pid} ${threadId}`);
    else answer(threadId);
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  const served = hear[message.method ?? ""];
  if (served !== undefined) served(message);
  else if (message.id !== undefined && message.method !== undefined)
    say({ id: message.id, result: {} });
  else if (String(message.id).startsWith("asks:")) {
    const threadId = String(message.id).slice(5);
    results.set(threadId, (results.get(threadId) ?? 0) + 1);
    read(models.get(threadId)?.slice(6) ?? "", threadId);
  }
});
