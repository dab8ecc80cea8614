/** Asks a running gateway for a burst of calls in every way, for `patchbay smoke`. */

import { SseReader } from "../../src/inspection.ts";
import { Fault, fieldsIn, fieldsOf, filledText, listOf, refusal } from "../../src/terminal.ts";
import { AnswerReading, type AnswerSummary, clients, errorText, figuresInHead } from "./clients.ts";
import { disagreements, problemsIn } from "./judge.ts";
import { bodyFor, type Scene, scenes } from "./scene.ts";

export type Look = {
  readonly url: string;
  readonly key: string | undefined;
  /** Default: the first model that the gateway lists. */
  readonly model?: string | undefined;
  /** The least number of calls in every answer. */
  readonly expect: number;
  readonly atMost?: number | undefined;
  /** For one request, in seconds. */
  readonly timeout: number;
};

export type Answer = {
  readonly scene: Scene;
  readonly seen: AnswerSummary;
  readonly problems: readonly string[];
};

export type Report = {
  readonly ok: boolean;
  readonly url: string;
  readonly model: string;
  readonly least: number;
  readonly answers: readonly Answer[];
  /** Contradictions between answers. */
  readonly problems: readonly string[];
};

/** Asks for every scene, one after another. */
export async function look({ expect: least, atMost, ...options }: Look): Promise<Report> {
  const target: Target = {
    url: options.url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    key: options.key,
    timeoutMs: options.timeout * 1000,
  };
  const bounds = { least, most: atMost ?? Infinity };
  const model = options.model ?? (await firstModel(target));
  // Several calls are asked for even where one is expected, which shows that a cap holds.
  const count = Math.max(2, least);
  const answers: Answer[] = [];
  for (const scene of scenes) {
    const seen = await ask(target, scene, bodyFor(scene, model, count));
    answers.push({ scene, seen, problems: [...seen.problems, ...problemsIn(scene, seen, bounds)] });
  }
  // Only answers without problems are compared.
  const problems = disagreements(answers.filter(({ problems }) => problems.length === 0));
  const ok = problems.length === 0 && answers.every(({ problems }) => problems.length === 0);
  return { ok, url: target.url, model, least, answers, problems };
}

type Target = {
  /** Without `/v1`. */
  readonly url: string;
  readonly key: string | undefined;
  readonly timeoutMs: number;
};

/** No gateway answers at an address. */
export class Unreachable extends Fault {}

/** The first model that the gateway lists. */
export async function firstModel(target: Target): Promise<string> {
  const response = await reach(target, "/v1/models", { method: "GET" });
  const text = await textOfAll(response, target);
  if (!response.ok) throw refused(target, response.status, text);
  const [first] = listOf(fieldsIn(text)?.data) ?? [];
  const model = filledText(fieldsOf(first)?.id);
  if (model === undefined)
    throw refusal(
      `${target.url} lists no models; name one with \`--model\`, such as UPSTREAM/MODEL.`,
    );
  return model;
}

async function ask(target: Target, scene: Scene, body: object): Promise<AnswerSummary> {
  const path = clients.find(({ door }) => door === scene.door)?.path ?? "";
  const response = await reach(target, path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-proxy-output-mode": scene.output },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    const text = await textOfAll(response, target);
    // The other requests would be refused for the same reason.
    if ([401, 403, 404].includes(response.status)) throw refused(target, response.status, text);
    const problems = [`HTTP ${response.status}: ${errorText(fieldsIn(text))}`];
    return { calls: [], text: "", finish: "", figures: undefined, problems };
  }
  const problems =
    response.headers.get("x-codex-stop-after-tools-mode") === null
      ? ["the `x-codex-stop-after-tools-mode` header is missing"]
      : [];
  const seen = await read(response, scene, target);
  return { ...seen, problems: [...problems, ...seen.problems] };
}

async function read(response: Response, { door, stream }: Scene, target: Target) {
  const reading = new AnswerReading(door);
  if (!stream) {
    try {
      reading.whole(await response.text(), figuresInHead(response.headers));
      return reading.end();
    } catch (error) {
      const problems = [`the answer broke off (${reasonOf(error, target)})`];
      return { calls: [], text: "", finish: "", figures: undefined, problems };
    }
  }
  const sse = new SseReader((...frame) => reading.frame(...frame), {
    onComment: (text) => reading.comment(text),
  });
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      sse.feed(piece);
    sse.end();
    return reading.end();
  } catch (error) {
    return reading.end(`the stream broke off (${reasonOf(error)})`);
  }
}

async function reach(target: Target, path: string, init: RequestInit): Promise<Response> {
  const { url, key, timeoutMs } = target;
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    return await fetch(`${url}${path}`, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...authorization },
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
    });
  } catch (error) {
    const reason = reasonOf(error, target);
    const remedy = isTimeout(error)
      ? "wait longer with `--timeout`, or see what keeps its upstream"
      : "start it with `patchbay serve`, or check `--url`";
    const message = `Nothing answers at ${url}${path} (${reason}); ${remedy}.`;
    throw new Unreachable("request.invalid", message, {}, error);
  }
}

/** The text of a list of models or of a refusal; if it breaks off, no other request is made. */
async function textOfAll(response: Response, target: Target): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    const reason = reasonOf(error, target);
    throw refusal(`${response.url} broke off its answer (${reason}); check \`--url\`.`, error);
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.name === "TimeoutError";

/** The reason why a connection failed: `fetch` throws an error whose cause has the code. */
function reasonOf(error: unknown, target?: Target): string {
  if (isTimeout(error))
    return target === undefined ? "no end in time" : `no answer in ${target.timeoutMs / 1000} s`;
  const { cause, message } = error as Error;
  const deeper = cause as NodeJS.ErrnoException | undefined;
  return deeper?.code ?? deeper?.message ?? message;
}

function refused({ url, key }: Target, status: number, text: string): Fault {
  const message = errorText(fieldsIn(text));
  if (status === 401 || status === 403) {
    const remedy =
      key === undefined
        ? "give its key with `--key` or PATCHBAY_API_KEY"
        : "the key from `--key` or PATCHBAY_API_KEY is not one of its `server.keys`";
    return refusal(`${url} needs a key (HTTP ${status}); ${remedy}.`);
  }
  if (message.startsWith("model")) return refusal(`${message} Name another with \`--model\`.`);
  return refusal(`${url} is no Patchbay, or not its base (HTTP ${status}); check \`--url\`.`);
}
