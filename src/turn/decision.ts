/** One change to a request or an answer. `path` is a path in the client's own request. */
export type Decision = {
  readonly path: string;
  readonly action: Action;
  readonly reason: string;
};

/** Receives the changes to an answer while it is sent. */
export type OnDecision = (decision: Decision) => void;

/**
 * `dropped`: not sent. `changed`: sent with another meaning or form.
 * `renamed`: sent under another name, restored on the way back.
 * `reshaped`: sent in another form, restored on the way back.
 * `repaired`: a fault in the request was mended.
 * `unused`: a hint about cost or speed that the upstream does not take; the answer is the same.
 * `noticed`: a part of the answer differs from the request, and was sent unchanged.
 */
export type Action =
  | "dropped"
  | "changed"
  | "renamed"
  | "reshaped"
  | "repaired"
  | "unused"
  | "noticed";

/** True for changes that strictness refuses: the request would mean something else. */
export const isLossy = (decision: Decision): boolean =>
  decision.action === "dropped" || decision.action === "changed";

/** The most decisions that one turn lists, so that they cannot fill memory. */
export const MAX_DECISIONS = 1000;

/** Limits the decisions on entries of lists, and adds one that counts the rest. */
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
  const reason = `${leftOut} more decisions like these are not listed`;
  const path = kept.at(-1)?.path.replace(/[[.].*/s, "") ?? "";
  return [...kept, { path, action: isLoss ? "dropped" : "repaired", reason }];
}
