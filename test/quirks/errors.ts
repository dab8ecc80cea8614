import { chunk, role, text } from "../support/chat-frames.ts";
import { DONE, type Quirk, type Sent } from "./quirk.ts";

const words = "The engine ran out of memory.";
const fails = /ran out of memory/;

/** The same failure at once and in mid-answer; both come with status 200. */
const inBoth = (quirk: string, providers: string, said: Sent): readonly Quirk[] => [
  {
    quirk: `an error in place of a stream: ${quirk}`,
    providers,
    wire: { stream: [said, DONE] },
    sees: { fails },
  },
  {
    quirk: `an error in mid-answer: ${quirk}`,
    providers,
    wire: { stream: [role, text("Hel"), said, DONE] },
    sees: { fails, text: "Hel" },
  },
];

/** Errors that chat servers send with status 200. */
export const chatErrors: readonly Quirk[] = [
  ...inBoth("an error object", "OpenAI, OpenRouter, vLLM", {
    error: { message: words, type: "server_error", code: "oom" },
  }),
  ...inBoth("a sentence", "Ollama, TGI", { error: words }),
  ...inBoth("an object that says that it is one", "vLLM, Mistral", {
    object: "error",
    message: words,
    code: 40_303,
  }),
  ...inBoth("a code and a message", "DashScope, Zhipu", { code: "1113", message: words }),
  ...inBoth("a detail", "FastAPI servers", { detail: words }),
  ...inBoth("a status of its own", "MiniMax", {
    base_resp: { status_code: 1004, status_msg: words },
  }),
  ...inBoth("a number and a message", "Baidu", { error_code: 336_501, error_msg: words }),
  ...inBoth("a field of its own", "Groq", { ...chunk([]), x_groq: { error: words } }),
  ...inBoth("a choice that holds it", "OpenRouter", {
    ...chunk([{ index: 0, delta: {}, error: { message: words } }]),
  }),
  ...inBoth("a named event", "Anthropic", `event: error\ndata: {"message":"${words}"}\n\n`),
  ...inBoth("a line that is no frame", "gateways", `error: {"message":"${words}"}\n\n`),
  {
    quirk: "an error in place of a body",
    providers: "MiniMax, Zhipu",
    wire: { body: { base_resp: { status_code: 1008, status_msg: words }, choices: null } },
    sees: { fails },
  },
  {
    quirk: "an error object in place of a body",
    providers: "OpenRouter",
    wire: { body: { error: { message: words, code: 502 } } },
    sees: { fails },
  },
];
