import { Fault, fieldsIn, fieldsOf, filledText, listOf } from "../../src/terminal.ts";
import { sseReader } from "../../src/inspection.ts";
import { clientOf } from "./clients.ts";
import { bodyFor, type Scene } from "./scene.ts";
import { errorText, figuresInHead, type StreamPiece, type AnswerSummary } from "./seen.ts";

/** The gateway that is looked at. */
export type Target = {
  /** Without `/v1`. */
  readonly url: string;
  readonly key: string | undefined;
  readonly timeoutMs: number;
};

/** No gateway answers at an address. */
export class Unreachable extends Fault {}

/** The first model the gateway lists. */
export async function firstModel(target: Target): Promise<string> {
  const response = await reach(target, "/v1/models", { method: "GET" });
  const text = await textOfAll(response, target);
  if (!response.ok) throw refused(target, response.status, text);
  const [first] = listOf(fieldsIn(text)?.data) ?? [];
  const model = filledText(fieldsOf(first)?.id);
  if (model === undefined)
    throw stop(`${target.url} lists no models; name one with \`--model\`, such as UPSTREAM/MODEL.`);
  return model;
}

/** Asks for a burst and reads what comes. */
export async function ask(
  target: Target,
  scene: Scene,
  { model, count }: { readonly model: string; readonly count: number },
): Promise<AnswerSummary> {
  const response = await reach(target, clientOf(scene.door).path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-proxy-output-mode": scene.output },
    body: JSON.stringify(bodyFor(scene, model, count)),
  });
  if (!response.ok) {
    const text = await textOfAll(response, target);
    // Whoever is not let in, or asks for what is not there, will not be better off the next time.
    if ([401, 403, 404].includes(response.status)) throw refused(target, response.status, text);
    return nothing(`HTTP ${response.status}: ${errorText(fieldsIn(text))}`);
  }
  const problems =
    response.headers.get("x-codex-stop-after-tools-mode") === null
      ? ["the `x-codex-stop-after-tools-mode` header is missing"]
      : [];
  const seen = scene.stream
    ? await readStream(response, scene)
    : await readWhole(response, scene, target);
  return { ...seen, problems: [...problems, ...seen.problems] };
}

const nothing = (problem: string): AnswerSummary => ({
  calls: [],
  text: "",
  finish: "",
  figures: undefined,
  problems: [problem],
});

async function readWhole(
  response: Response,
  { door }: Scene,
  target: Target,
): Promise<AnswerSummary> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    return nothing(`the answer broke off (${reasonOf(error, target)})`);
  }
  const body = fieldsIn(text);
  const read = clientOf(door).readBody(body);
  return { ...read, figures: figuresInHead(response.headers) };
}

async function readStream(response: Response, { door }: Scene): Promise<AnswerSummary> {
  const pieces: StreamPiece[] = [];
  const cut: string[] = [];
  const reader = sseReader(
    (data, _name, partial) => {
      if (partial) cut.push("the stream broke off within a frame");
      else pieces.push({ type: "frame", data });
    },
    { onComment: (text) => void pieces.push({ type: "comment", text }) },
  );
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      reader.feed(piece);
    reader.end();
  } catch (error) {
    cut.push(`the stream broke off (${reasonOf(error)})`);
  }
  const seen = clientOf(door).readStream(pieces);
  return { ...seen, problems: [...cut, ...seen.problems] };
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

/** What is said besides a burst: where that breaks off, nothing else is worth asking. */
async function textOfAll(response: Response, target: Target): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    const reason = reasonOf(error, target);
    throw stop(`${response.url} broke off its answer (${reason}); check \`--url\`.`, error);
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.name === "TimeoutError";

/** Why a connection failed: the code is told by the cause of what `fetch` throws. */
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
    return stop(`${url} lets nobody in without a key (HTTP ${status}); ${remedy}.`);
  }
  if (message.startsWith("model")) return stop(`${message} Name another with \`--model\`.`);
  return stop(`${url} is no Patchbay, or not its base (HTTP ${status}); check \`--url\`.`);
}

const stop = (message: string, cause?: unknown): Fault =>
  new Fault("request.invalid", message, {}, cause);
