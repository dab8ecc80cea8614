import type { Plan } from "../../tools/plan/plan.ts";
import type { Decision } from "../../turn/decision.ts";
import type { FoldedQuestion } from "./ask.ts";
import type { Folded } from "./folded.ts";

/**
 * The plan of a folded request in the words of the request as the client sent
 * it: what stays is found at its own place, what is folded is deferred, and the
 * loaders, which no client declared, are not listed.
 */
export function amendPlan(
  plan: Plan,
  { tools, deferred }: Folded,
  { paths }: Pick<FoldedQuestion, "paths">,
): Plan {
  const own = new Map([...tools.values()].map((tool) => [tool.path, tool.client]));
  const verdicts = plan.verdicts.flatMap((verdict) => {
    const path = placeOf(verdict.path, paths);
    return path === undefined ? [] : [{ ...verdict, ...own.get(path), path }];
  });
  const decisions = plan.decisions.flatMap((decision): Decision[] => {
    const path = placeOf(decision.path, paths);
    return path === undefined ? [] : [path === decision.path ? decision : { ...decision, path }];
  });
  const offered = new Set(verdicts.map(({ path }) => path));
  const waiting = deferred.filter(({ path }) => !offered.has(path));
  return { ...plan, verdicts: [...verdicts, ...waiting], decisions };
}

/** Where the client finds what stands at a path; undefined for what it did not declare. */
function placeOf(path: string, paths: ReadonlyMap<string, string>): string | undefined {
  const [, own, rest = ""] = /^(tools\[\d+\](?:\.tools\[\d+\])?)(.*)$/s.exec(path) ?? [];
  if (own === undefined) return path;
  const known = paths.get(own);
  return known === undefined ? undefined : known + rest;
}
