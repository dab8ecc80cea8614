import type { Decision } from "../../turn/decision.ts";

/** Records that a reader understood something though its dialect says it otherwise. */
export type Repair = (path: string, reason: string) => void;

export type Repairs = {
  readonly add: Repair;
  /** Takes over those of a part that was read on its own. */
  include(decisions: readonly Decision[]): void;
  readonly decisions: () => readonly Decision[];
};

const none: readonly Decision[] = [];

/** Collects the repairs of one request; several of one path for one reason count once. */
export function collectRepairs(): Repairs {
  let found: Decision[] | undefined;
  return {
    add(path, reason) {
      const last = found?.at(-1);
      if (last?.path === path && last.reason === reason) return;
      (found ??= []).push({ path, action: "repaired", reason });
    },
    include(decisions) {
      if (decisions.length > 0) found = [...(found ?? none), ...decisions];
    },
    decisions: () => found ?? none,
  };
}

/** For what is read in any form: nothing has to be repaired there. */
export const withoutRepair: Repair = () => {};
