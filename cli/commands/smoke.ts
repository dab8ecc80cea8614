import {
  environment,
  Fault,
  fieldsIn,
  print,
  printFault,
  printJson,
  refusal,
} from "../../src/terminal.ts";
import { aligned, exitCode } from "../output.ts";
import { chooseGateway, keyFor } from "../gateways.ts";
import {
  bodyText,
  connectionReason,
  errorMessage,
  firstModel,
  reach,
  refusedBy,
  type RemoteGateway,
  rootOf,
  Unreachable,
} from "../remote.ts";
import { answerProblems, cityIn, useToolBlocks } from "../smoke/judge.ts";
import {
  addressOf,
  figuresInHead,
  type ReadAnswer,
  readAnswer,
  type SeenCall,
} from "../smoke/clients.ts";
import { bodyFor, type Scene, scenes } from "../smoke/scene.ts";
import { configurationText, localStatuses } from "./status.ts";
import type { With } from "../options.ts";

/** `patchbay smoke`: asks a running gateway for bursts of calls in all dialects and output modes. */
export async function smoke({
  json = false,
  ...options
}: With<"url" | "expect" | "timeout">): Promise<void> {
  const key = keyFor(options, environment());
  let report: SmokeReport;
  const known = await configurationAt(options.url);
  try {
    refuseContradiction(options);
    report = await look({ ...options, key });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    process.exitCode = error instanceof Unreachable ? exitCode.nobody : exitCode.wrong;
    if (json) printJson({ ok: false, problems: [error.message], answers: [] });
    else printFault(error);
    return;
  }
  if (!report.ok) process.exitCode = 1;
  if (json) printJson(jsonOf(report));
  else print([...(known === undefined ? [] : [`Configuration: ${known}`]), ...lines(report)]);
}

/** The configuration of a gateway of this user, asked by its private socket; undefined for another one. */
async function configurationAt(url: string): Promise<string | undefined> {
  const chosen = await chooseGateway({ url });
  if (!("local" in chosen)) return undefined;
  const [asked] = await localStatuses(chosen.local);
  return asked && configurationText(asked.status);
}

function refuseContradiction({
  allowSingle = false,
  expect,
  atMost = expect,
}: With<"url" | "expect" | "timeout">): void {
  if (allowSingle)
    throw refusal("The option `--allow-single` does not exist; use `--expect 1` instead.");
  if (atMost < expect)
    throw refusal(
      `\`--at-most ${atMost}\` is less than \`--expect ${expect}\`; give \`--expect ${atMost}\` too.`,
    );
}

function* lines({ ok, url, model, least, answers }: SmokeReport): Generator<string> {
  yield `${url}, model ${model}: bursts of ${least} or more calls`;
  yield "";
  const rows = aligned([
    ["", "door", "answer", "output", "calls", "finish", "statistics", "blocks"],
    ...answers.map(rowOf),
  ]);
  yield* rows.slice(0, 1);
  for (const [at, answer] of answers.entries()) {
    yield rows[at + 1] ?? "";
    for (const problem of answer.problems) yield `        ${problem}`;
  }
  yield "";
  const good = answers.filter((answer) => answer.problems.length === 0).length;
  const sum = `${good} of ${answers.length} answers are correct`;
  yield ok ? `${sum}.` : `${sum}. The test failed.`;
}

function rowOf({ scene, seen, problems }: SmokeAnswer): readonly string[] {
  const { calls, figures } = seen;
  return [
    problems.length === 0 ? "ok" : "FAIL",
    scene.door,
    scene.stream ? "stream" : "whole",
    scene.output,
    calls.length === 0 ? "0" : `${calls.length}: ${inOrder(calls)}`,
    seen.finish || "-",
    figures === undefined
      ? "-"
      : `count=${figures.count} truncated=${figures.truncated} mode=${figures.mode}`,
    String(useToolBlocks(seen.text).length),
  ];
}

/** The calls in their order; a name is written once for consecutive calls. */
const inOrder = (calls: readonly SeenCall[]): string =>
  calls
    .map(({ name, arguments: input }, at) =>
      calls[at - 1]?.name === name ? cityIn(input) : `${name} ${cityIn(input)}`,
    )
    .join(", ");

const jsonOf = ({ answers, least, ...report }: SmokeReport): object => ({
  ...report,
  expect: least,
  answers: answers.map(({ scene, seen, problems }) => ({
    ...scene,
    ok: problems.length === 0,
    calls: seen.calls,
    finish: seen.finish,
    figures: seen.figures ?? null,
    blocks: useToolBlocks(seen.text).length,
    flaws: problems,
  })),
});

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
  const ok = answers.every(({ problems }) => problems.length === 0);
  return { ok, url: target.url, model, least, answers };
}

async function ask(
  target: RemoteGateway,
  scene: Scene,
  model: string,
  count: number,
): Promise<ReadAnswer> {
  const { path, named } = addressOf(scene.door, model, scene.stream);
  const response = await reach(target, path, {
    headers: { "x-proxy-output-mode": scene.output },
    body: { ...named, ...bodyFor(scene, count) },
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
