import type { Kind } from "./kind.ts";

/** What every upstream with tools has; its own form is what others stand in as. */
export const functionKind: Kind = { kind: "function" };
