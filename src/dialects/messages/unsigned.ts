/**
 * The signature of a thought that nobody signed. Clients fail without any, and
 * send back what they were given; no upstream is sent it.
 */
export const UNSIGNED = "patchbay:unsigned";

export const isUnsigned = (signature: string): boolean => signature === UNSIGNED;
