import type { Report } from "../../observe/happening.ts";

/** What the event loop was held by: reading and planning a request, or reading and writing an answer. */
export type WorkKind = "request" | "answer";

/** Is told of each piece of work on a request that ran without a break. */
export type WorkWatch = (work: WorkKind, requestId: string, ms: number) => void;

/**
 * Reports work on one request that held the event loop longer than a budget:
 * nobody else's request moved in that time. It costs two looks at the clock for
 * each request and for each network read of an answer.
 */
export const workWatch =
  (budgetMs: () => number, report: Report): WorkWatch =>
  (work, requestId, ms) => {
    if (ms > budgetMs()) report({ type: "blocked", work, requestId, ms });
  };
