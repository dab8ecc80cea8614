import { Fault } from "../../turn/fault.ts";
import { aligned } from "../aligned.ts";
import { environment } from "../env.ts";
import { ask, firstModel, type Target } from "../smoke/ask.ts";
import { blocksIn, disagreements, flawsOf, type Bounds } from "../smoke/judge.ts";
import { scenes, type Scene } from "../smoke/scene.ts";
import type { Seen } from "../smoke/seen.ts";

export type SmokeOptions = {
  readonly url: string;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  /** How many calls every answer must have. */
  readonly expect: number;
  readonly atMost?: number | undefined;
  /** For one request, in seconds. */
  readonly timeout: number;
  readonly json?: boolean | undefined;
};

/** `patchbay smoke`: asks a running gateway for bursts of calls, in every way, and says what came. */
export async function smoke(options: SmokeOptions): Promise<void> {
  const { json = false } = options;
  let report: Report;
  try {
    report = await look(options);
  } catch (error) {
    if (!json || !(error instanceof Fault)) throw error;
    process.exitCode = 1;
    console.log(JSON.stringify({ ok: false, problems: [error.message], answers: [] }));
    return;
  }
  if (!report.ok) process.exitCode = 1;
  console.log(json ? JSON.stringify(toldAsJson(report)) : [...lines(report)].join("\n"));
}

type Answer = { readonly scene: Scene; readonly seen: Seen; readonly flaws: readonly string[] };

type Report = {
  readonly ok: boolean;
  readonly url: string;
  readonly model: string;
  readonly least: number;
  readonly answers: readonly Answer[];
  /** What is wrong between answers. */
  readonly problems: readonly string[];
};

async function look({ expect: least, atMost, ...options }: SmokeOptions): Promise<Report> {
  const { PATCHBAY_API_KEY, PROXY_API_KEY } = environment();
  const target: Target = {
    url: options.url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    key: options.key ?? (PATCHBAY_API_KEY || PROXY_API_KEY || undefined),
    timeoutMs: options.timeout * 1000,
  };
  const bounds: Bounds = { least, most: atMost ?? Infinity };
  const model = options.model ?? (await firstModel(target));
  // A burst is asked for even where one call is to come of it: so it shows that a cap holds.
  const asked = { model, count: Math.max(2, least) };
  const answers: Answer[] = [];
  for (const scene of scenes) {
    const seen = await ask(target, scene, asked);
    answers.push({ scene, seen, flaws: [...seen.flaws, ...flawsOf(scene, seen, bounds)] });
  }
  // Answers that are wrong by themselves need not be held against each other.
  const problems = disagreements(answers.filter(({ flaws }) => flaws.length === 0));
  const ok = problems.length === 0 && answers.every(({ flaws }) => flaws.length === 0);
  return { ok, url: target.url, model, least, answers, problems };
}

function* lines({ ok, url, model, least, answers, problems }: Report): Generator<string> {
  yield `${url}, model ${model}: bursts of ${least} or more calls`;
  yield "";
  const rows = aligned([
    ["", "door", "answer", "output", "calls", "finish", "told", "blocks"],
    ...answers.map(rowOf),
  ]);
  yield* rows.slice(0, 1);
  for (const [at, { flaws }] of answers.entries()) {
    yield rows[at + 1] ?? "";
    for (const flaw of flaws) yield `        ${flaw}`;
  }
  yield "";
  yield* problems;
  const good = answers.filter(({ flaws }) => flaws.length === 0).length;
  const sum = `${good} of ${answers.length} answers are as they should be`;
  yield ok ? `${sum}.` : `${sum}${problems.length > 0 ? ", and some disagree" : ""}: it fails.`;
}

function rowOf({ scene, seen, flaws }: Answer): readonly string[] {
  const { calls, figures } = seen;
  const names = new Map<string, number>();
  for (const { name } of calls) names.set(name, (names.get(name) ?? 0) + 1);
  const listed = [...names].map(([name, times]) => (times > 1 ? `${name} x${times}` : name));
  return [
    flaws.length === 0 ? "ok" : "FAIL",
    scene.door,
    scene.stream ? "stream" : "whole",
    scene.output,
    calls.length === 0 ? "0" : `${calls.length}: ${listed.join(", ")}`,
    seen.finish || "-",
    figures === undefined
      ? "-"
      : `count=${figures.count} truncated=${figures.truncated} mode=${figures.mode}`,
    String(blocksIn(seen.text).length),
  ];
}

const toldAsJson = ({ answers, least, ...report }: Report): object => ({
  ...report,
  expect: least,
  answers: answers.map(({ scene, seen, flaws }) => ({
    ...scene,
    ok: flaws.length === 0,
    calls: seen.calls,
    finish: seen.finish,
    figures: seen.figures ?? null,
    blocks: blocksIn(seen.text).length,
    flaws,
  })),
});
