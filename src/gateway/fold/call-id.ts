import type { Catalog } from "../../agent/catalog.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";

/**
 * Call ids that name the sections opened right before the call: every client returns ids
 * unchanged. `pb1_`, a hash of the catalogue, two characters for each section and a hash of the
 * upstream's own id make at most 40 characters, the smallest limit of the known APIs.
 */
const FORM = /^pb1_([0-9a-z]{5})_((?:[0-9a-z]{2})+)_([0-9a-z]{7})$/;
const MOST = 10;
const BASE = 36;
/** The number of sections that two characters can name. */
const SECTIONS = BASE * BASE;

/** An id for a call that carries opened sections; undefined if none of them is in the catalogue. */
export function callIdWith(
  opened: readonly string[],
  catalog: Catalog,
  own: string,
): string | undefined {
  const places = opened
    .map((path) => catalog.nodes.findIndex((node) => node.path === path))
    .filter((place) => place >= 0 && place < SECTIONS)
    .slice(-MOST);
  if (places.length === 0) return undefined;
  const written = places.map((place) => place.toString(BASE).padStart(2, "0")).join("");
  return `pb1_${markOf(catalog)}_${written}_${hashed(own, 7)}`;
}

/** The opened sections that an id carries; empty for an id of another catalogue. */
export function openedIn(id: string, catalog: Catalog): readonly string[] {
  const [, mark, written = ""] = FORM.exec(id) ?? [];
  if (mark !== markOf(catalog)) return [];
  return (written.match(/../g) ?? []).flatMap(
    (place) => catalog.nodes[Number.parseInt(place, BASE)]?.path ?? [],
  );
}

/** A hash of the sections in their order. */
const markOf = memoizeByIdentity(({ nodes }: Catalog): string =>
  hashed(nodes.map(({ path }) => path).join("\n"), 5),
);

/** FNV-1a, twice. It distinguishes ids and is not cryptographic. */
function hashed(text: string, length: number): string {
  let [low, high] = [0x811c9dc5, 0x9dc5811c];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193) >>> 0;
    high = Math.imul(high ^ (code + at), 0x01000193) >>> 0;
  }
  return (low.toString(BASE) + high.toString(BASE)).padStart(length, "0").slice(-length);
}
