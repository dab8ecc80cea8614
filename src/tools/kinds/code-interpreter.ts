import type { Kind } from "./kind.ts";

/** Runs code in a container of the provider's. Only it can do so. */
export const codeInterpreterKind: Kind = { kind: "code_interpreter" };
