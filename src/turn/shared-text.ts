/**
 * A text that many answers share, such as the tools that they repeat. It is stored once. The same
 * object stands for the same text, so that its digest is computed once.
 */
export type SharedText = { readonly text: string };

/** Shorter texts are stored in every record: that is cheaper than a look-up. */
export const SHARED_LENGTH = 1024;
