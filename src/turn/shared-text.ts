/**
 * A text that many answers have in common, such as the tools that they repeat. It
 * is stored once. Whoever has made the same text before gives the same object, so
 * that its digest is not made again.
 */
export type SharedText = { readonly text: string };
