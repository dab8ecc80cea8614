/**
 * One thing that was done to a request so that an upstream could take it.
 * `path` is in the client's words, so that the client can find it.
 */
export type Decision = {
  readonly path: string;
  readonly action: Action;
  readonly reason: string;
};

/** Hears of what had to be done to an answer, while it is given. */
export type OnDecision = (decision: Decision) => void;

/**
 * `dropped`: not sent. `changed`: sent with another meaning or form.
 * `renamed`: sent under another name, restored on the way back.
 * `reshaped`: sent in another form, restored on the way back.
 * `repaired`: a fault in the request was mended. `unused`: a hint about cost
 * or speed that the upstream does not take; the answer is the same without it.
 * `noticed`: something of the answer is not as it was asked for, and was passed
 * on as it is.
 */
export type Action =
  | "dropped"
  | "changed"
  | "renamed"
  | "reshaped"
  | "repaired"
  | "unused"
  | "noticed";

/** What strictness refuses: the request would not mean the same. */
export const isLossy = (decision: Decision): boolean =>
  decision.action === "dropped" || decision.action === "changed";

/** How many decisions of one turn are listed: requests and answers with no end of odd things must not fill memory. */
export const MAX_DECISIONS = 1000;

/** The decisions, cut to as many as are listed of what stands in lists, with one that counts the rest. */
export function boundDecisions(decisions: readonly Decision[], more = 0): readonly Decision[] {
  if (decisions.length <= MAX_DECISIONS && more === 0) return decisions;
  let listed = 0;
  let isLoss = more > 0;
  const kept = decisions.filter((decision) => {
    const isKept = !decision.path.includes("[") || ++listed <= MAX_DECISIONS;
    isLoss ||= !isKept && isLossy(decision);
    return isKept;
  });
  const leftOut = decisions.length - kept.length + more;
  if (leftOut === 0) return decisions;
  const reason = `${leftOut} more decisions like these are not told one by one`;
  const path = kept.at(-1)?.path.replace(/[[.].*/s, "") ?? "";
  return [...kept, { path, action: isLoss ? "dropped" : "repaired", reason }];
}
