import type { Action, Decision } from "../../turn/decision.ts";

/** Collects decisions; what is done many times for one reason is listed once, with the first path. */
export type Notes = {
  note(path: string, action: Action, reason: string): void;
  decisions(): readonly Decision[];
};

export function takeNotes(): Notes {
  let found: Map<string, { decision: Decision; count: number }> | undefined;
  return {
    note(path, action, reason) {
      found ??= new Map();
      const key = `${action} ${reason}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { decision: { path, action, reason }, count: 1 });
      else known.count++;
    },
    decisions: () =>
      found === undefined
        ? none
        : [...found.values()].map(({ decision: { path, action, reason }, count }) => ({
            path,
            action,
            reason: count === 1 ? reason : `${reason} (${count} times)`,
          })),
  };
}

const none: readonly Decision[] = [];
