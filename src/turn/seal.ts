/**
 * What begins a seal of ours: a text that says whose reasoning it is, which
 * clients give back untouched.
 */
export const SEAL_MARK = "patchbay:1:";

export const isSeal = (text: unknown): text is string =>
  typeof text === "string" && text.startsWith(SEAL_MARK);
