import type { Report } from "../../observe/happening.ts";

/** The work that held the event loop: on a request, or on an answer. */
export type WorkKind = "request" | "answer";

/** Receives the duration of each piece of work that ran without a break. */
export type WorkWatch = (work: WorkKind, requestId: string, ms: number) => void;

/**
 * Reports work on one request that held the event loop longer than a budget. It reads the clock
 * twice for each request and for each network read of an answer.
 */
export const workWatch =
  (budgetMs: () => number, report: Report): WorkWatch =>
  (work, requestId, ms) => {
    if (ms > budgetMs()) report({ type: "blocked", work, requestId, ms });
  };
