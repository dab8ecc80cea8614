/** Asks a running gateway for a burst of calls in every way, for `patchbay smoke`. */

import { fieldsIn } from "../../src/terminal.ts";
import {
  bodyText,
  errorMessage,
  firstModel,
  reach,
  connectionReason,
  refusedBy,
  type RemoteGateway,
  rootOf,
} from "../remote.ts";
import { type ReadAnswer, addressOf, figuresInHead, readAnswer } from "./clients.ts";
import { disagreements, answerProblems } from "./judge.ts";
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

export type SmokeAnswer = {
  readonly scene: Scene;
  readonly seen: ReadAnswer;
  readonly problems: readonly string[];
};

export type SmokeReport = {
  readonly ok: boolean;
  readonly url: string;
  readonly model: string;
  readonly least: number;
  readonly answers: readonly SmokeAnswer[];
  /** Contradictions between answers. */
  readonly problems: readonly string[];
};

export async function look({ expect: least, atMost, ...options }: Look): Promise<SmokeReport> {
  const target: RemoteGateway = {
    url: rootOf(options.url),
    key: options.key,
    timeoutMs: options.timeout * 1000,
  };
  const bounds = { least, most: atMost ?? Infinity };
  const model = options.model ?? (await firstModel(target));
  // Several calls are asked for even where one is expected, which shows that a cap holds.
  const count = Math.max(2, least);
  const answers: SmokeAnswer[] = [];
  for (const scene of scenes) {
    const seen = await ask(target, scene, model, count);
    answers.push({
      scene,
      seen,
      problems: [...seen.problems, ...answerProblems(scene, seen, bounds)],
    });
  }
  // Only answers without problems are compared.
  const problems = disagreements(answers.filter(({ problems }) => problems.length === 0));
  const ok = problems.length === 0 && answers.every(({ problems }) => problems.length === 0);
  return { ok, url: target.url, model, least, answers, problems };
}

async function ask(
  target: RemoteGateway,
  scene: Scene,
  model: string,
  count: number,
): Promise<ReadAnswer> {
  const { path, named } = addressOf(scene.door, model, scene.stream);
  const response = await reach(target, path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-proxy-output-mode": scene.output },
    body: JSON.stringify({ ...named, ...bodyFor(scene, count) }),
  });
  if (!response.ok) {
    const text = await bodyText(response, target);
    // The other requests would be refused for the same reason.
    if ([401, 403, 404].includes(response.status)) throw refusedBy(target, response.status, text);
    const problems = [
      `HTTP ${response.status}: ${errorMessage(fieldsIn(text)) ?? "no reason was given"}`,
    ];
    return { calls: [], text: "", finish: "", figures: undefined, problems };
  }
  const problems =
    response.headers.get("x-codex-stop-after-tools-mode") === null
      ? ["the `x-codex-stop-after-tools-mode` header is missing"]
      : [];
  const seen = await read(response, scene, target);
  return { ...seen, problems: [...problems, ...seen.problems] };
}

async function read(response: Response, { door, stream }: Scene, target: RemoteGateway) {
  const chunks: Uint8Array[] = [];
  let broken: string | undefined;
  try {
    for await (const piece of response.body ?? []) chunks.push(piece as Uint8Array);
  } catch (error) {
    broken = `the ${stream ? "stream" : "answer"} broke off (${connectionReason(error, target)})`;
  }
  const figures = stream ? undefined : figuresInHead(response.headers);
  return readAnswer(door, chunks, { figures, broken });
}
