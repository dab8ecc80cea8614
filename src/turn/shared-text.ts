/**
 * A text that many answers have in common, such as the tools that they repeat. It
 * is stored once. Whoever has made the same text before gives the same object, so
 * that its digest is not made again.
 */
export type SharedText = { readonly text: string };

/** A shorter text is cheaper to store with everything that has it than to look up. */
export const SHARED_LENGTH = 1024;
