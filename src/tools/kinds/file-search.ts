import type { Kind } from "./kind.ts";

/** Searches documents that are stored with the provider. Only it can do so. */
export const fileSearchKind: Kind = { kind: "file_search" };
