/**
 * What a seal on reasoning is kept and looked up by. Seals end in what proves
 * them, so that no two end alike.
 */
export const sealKey = (seal: string): string => `${seal.length}:${seal.slice(-48)}`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The same for keeping, through bytes: a piece of a text would hold the whole of it in memory. */
export const ownSealKey = (seal: string): string => decoder.decode(encoder.encode(sealKey(seal)));
