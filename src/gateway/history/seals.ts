import type { StoredItem } from "../../history/log.ts";

/**
 * The id of the note that names the upstream of a seal on reasoning. Seals end with their
 * authentication tag, so their last characters differ.
 */
export const sealId = (seal: string): string => `seal:${seal.length}:${seal.slice(-48)}`;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** That note. Encoding copies its id: a substring would keep the whole seal in memory. */
export const sealNote = (seal: string, upstream: string): StoredItem => ({
  id: decoder.decode(encoder.encode(sealId(seal))),
  json: upstream,
});
