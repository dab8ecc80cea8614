import { ask, firstModel, type Target } from "./ask.ts";
import { disagreements, problemsIn, type Bounds } from "./judge.ts";
import { scenes, type Scene } from "./scene.ts";
import type { AnswerSummary } from "./seen.ts";

export type Look = {
  readonly url: string;
  readonly key: string | undefined;
  /** None: the first that the gateway lists. */
  readonly model?: string | undefined;
  /** How many calls every answer must have. */
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
  /** What is wrong between answers. */
  readonly problems: readonly string[];
};

/** Asks a running gateway for a burst in every way there is. */
export async function look({ expect: least, atMost, ...options }: Look): Promise<Report> {
  const target: Target = {
    url: options.url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    key: options.key,
    timeoutMs: options.timeout * 1000,
  };
  const bounds: Bounds = { least, most: atMost ?? Infinity };
  const model = options.model ?? (await firstModel(target));
  // A burst is asked for even where one call is to come of it: so it shows that a cap holds.
  const asked = { model, count: Math.max(2, least) };
  const answers: Answer[] = [];
  for (const scene of scenes) {
    const seen = await ask(target, scene, asked);
    answers.push({ scene, seen, problems: [...seen.problems, ...problemsIn(scene, seen, bounds)] });
  }
  // Answers that are wrong by themselves need not be held against each other.
  const problems = disagreements(answers.filter(({ problems }) => problems.length === 0));
  const ok = problems.length === 0 && answers.every(({ problems }) => problems.length === 0);
  return { ok, url: target.url, model, least, answers, problems };
}
