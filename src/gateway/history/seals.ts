import type { StoredItem } from "../../history/log.ts";

/**
 * The id of the note that names the upstream of a seal on reasoning. Seals end in
 * what proves them, so that no two end alike.
 */
export const sealId = (seal: string): string => `seal:${seal.length}:${seal.slice(-48)}`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** That note. Its id goes through bytes: a piece of a text would hold the whole of it in memory. */
export const sealNote = (seal: string, upstream: string): StoredItem => ({
  id: decoder.decode(encoder.encode(sealId(seal))),
  json: upstream,
});
