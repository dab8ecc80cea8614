import type { Catalog } from "../../agent/catalog.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";

/**
 * Call ids that carry which sections were opened right before the call: the one
 * thing of an answer that every client gives back as it was. `pb1_`, a mark of
 * the catalogue, two characters for each section and a mark of the upstream's own
 * id make 40 characters at most, which is what the narrowest known API takes.
 */
const FORM = /^pb1_([0-9a-z]{5})_((?:[0-9a-z]{2})+)_([0-9a-z]{7})$/;
const MOST = 10;
const BASE = 36;
/** Two characters tell so many sections apart. */
const SECTIONS = BASE * BASE;

/** An id for a call of the client's that carries openings; undefined where there are none to carry. */
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

/** The sections that an id says were opened; none where it is not of this catalogue. */
export function openedIn(id: string, catalog: Catalog): readonly string[] {
  const [, mark, written = ""] = FORM.exec(id) ?? [];
  if (mark !== markOf(catalog)) return [];
  return (written.match(/../g) ?? []).flatMap(
    (place) => catalog.nodes[Number.parseInt(place, BASE)]?.path ?? [],
  );
}

/** The same sections in the same order have the same mark. */
const markOf = memoizeByIdentity(({ nodes }: Catalog): string =>
  hashed(nodes.map(({ path }) => path).join("\n"), 5),
);

/** FNV-1a, twice: not for keeping secrets but for telling ids apart. */
function hashed(text: string, length: number): string {
  let [low, high] = [0x811c9dc5, 0x9dc5811c];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193) >>> 0;
    high = Math.imul(high ^ (code + at), 0x01000193) >>> 0;
  }
  return (low.toString(BASE) + high.toString(BASE)).padStart(length, "0").slice(-length);
}
