/** Finds model servers on this machine, each by an answer that only it gives. */

import { fieldsIn, fieldsOf, filledText, listOf } from "../../src/dialects/shared/loose.ts";
import type { Fields } from "../../src/turn/turn.ts";

export type LocalServer = {
  readonly name: string;
  readonly title: string;
  /** Where it was reached, without a path. */
  readonly address: string;
  readonly version?: string | undefined;
  /** None where the generic one holds. */
  readonly profile?: string | undefined;
  /** As it lists them. */
  readonly models: readonly string[];
};

type Sign = {
  readonly name: string;
  readonly title: string;
  readonly port: number;
  /** What to ask for, and whether the answer is this server's. */
  readonly path: string;
  isOwn(body: Fields): boolean;
  readonly profile?: string | undefined;
};

const hasText = (field: string) => (body: Fields) => filledText(body[field]) !== undefined;

/** Read in the documents of each, 2026-11. */
export const signs: readonly Sign[] = [
  {
    name: "ollama",
    title: "Ollama",
    port: 11_434,
    path: "/api/version",
    isOwn: hasText("version"),
    profile: "ollama",
  },
  {
    name: "lmstudio",
    title: "LM Studio",
    port: 1234,
    path: "/api/v1/models",
    isOwn: ({ models }) => Array.isArray(models),
    profile: "lmstudio",
  },
  {
    name: "vllm",
    title: "vLLM",
    port: 8000,
    path: "/version",
    isOwn: hasText("version"),
    profile: "vllm",
  },
  {
    name: "llamacpp",
    title: "llama.cpp",
    port: 8080,
    path: "/props",
    isOwn: ({ default_generation_settings: settings }) => fieldsOf(settings) !== undefined,
  },
  {
    name: "llamaswap",
    title: "llama-swap",
    port: 8080,
    path: "/running",
    isOwn: ({ running }) => Array.isArray(running),
  },
  {
    name: "sglang",
    title: "SGLang",
    port: 30_000,
    path: "/get_model_info",
    isOwn: hasText("model_path"),
  },
];

/** Whoever is there answers at once; nobody waits longer for the others. */
const PATIENCE_MS = 300;

/** Asks all of them at once, on loopback alone. */
export async function findLocalServers(portOf = (sign: Sign) => sign.port): Promise<LocalServer[]> {
  const found = await Promise.all(
    signs.map((sign) => lookAt(sign, `http://127.0.0.1:${portOf(sign)}`)),
  );
  return found.flatMap((server) => server ?? []);
}

async function lookAt(sign: Sign, address: string): Promise<LocalServer | undefined> {
  const body = await askLocal(`${address}${sign.path}`);
  if (body === undefined || !sign.isOwn(body)) return undefined;
  const { name, title, profile } = sign;
  const list = listOf((await askLocal(`${address}/v1/models`))?.data) ?? [];
  const models = list.flatMap((one) => filledText(fieldsOf(one)?.id) ?? []);
  return { name, title, profile, address, version: filledText(body.version), models };
}

/** A JSON object from this machine, if one comes soon. */
async function askLocal(url: string, headers = {}): Promise<Fields | undefined> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fetch(url, { headers, signal, redirect: "error" });
    if (!response.ok) return undefined;
    return fieldsIn(await limitedText(response));
  } catch {
    return undefined; // Nobody is there, or somebody who speaks otherwise.
  }
}

const MOST_BYTES = 1_000_000;

/** What answers on a port may be anything, and say anything. */
async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MOST_BYTES) return "";
  }
  return text;
}
