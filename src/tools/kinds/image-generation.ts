import type { Kind } from "./kind.ts";

/** Draws with a model of the provider's. Only it can do so. */
export const imageGenerationKind: Kind = { kind: "image_generation" };
