import { nearest } from "../diagnostics/nearest.ts";
import { lineage, type Catalog, type Node } from "./catalog.ts";
import { render } from "./render.ts";
import type { Tool } from "./tool.ts";
import { closedIn, opened, type State } from "./visibility.ts";

/** What reading a section brings. */
export type ReadSectionResult = {
  readonly content: string;
  /** The tools of all that became visible, the section's own and those below it. */
  readonly expandedTools: readonly Tool[];
};

/** A reading that opens the sections `opens`, from the root on. */
export type OpenedReading = {
  readonly type: "opened";
  readonly path: string;
  readonly opens: readonly string[];
  readonly result: ReadSectionResult;
  /** The tools of what is shown. */
  readonly tools: readonly Tool[];
};

/** `already`: nothing changes, so that a repeated or parallel reading does no harm. */
export type Reading =
  | OpenedReading
  | {
      readonly type: "already";
      readonly path: string;
      readonly result: ReadSectionResult;
      readonly tools: readonly Tool[];
    }
  | { readonly type: "unknown"; readonly message: string };

/** What a model is told of a section that it asks for, and what that opens. Nothing changes by it. */
export function readSection(catalog: Catalog, key: string, state: State, loader: string): Reading {
  const node = find(catalog, key, state);
  if (node === undefined) return { type: "unknown", message: unknownKey(catalog, key, state) };
  const { path } = node;
  if (state.isReached(node)) {
    const { text, tools } = render({ roots: [node] }, state, loader);
    return { type: "already", path, result: { content: text, expandedTools: [] }, tools };
  }
  // A section in a closed one is reached by opening that too.
  const opening = lineage(node).filter((one) => !state.isOpen(one));
  const after = opened(state, opening);
  const changed = { roots: [opening[0] ?? node] };
  const { text, tools } = render(changed, after, loader);
  const before = new Set(render(changed, state, loader).tools);
  const expandedTools = tools.filter((tool) => !before.has(tool));
  const opens = opening.map((one) => one.path);
  return { type: "opened", path, opens, result: { content: text, expandedTools }, tools };
}

function find(catalog: Catalog, key: string, state: State): Node | undefined {
  const node = catalog.byPath.get(key.trim());
  return node !== undefined && state.exists(node) ? node : undefined;
}

/** Names what was most likely meant: nothing that the scope may not know of. */
function unknownKey(catalog: Catalog, key: string, state: State): string {
  const wanted = key.trim();
  const known = catalog.nodes.filter((node) => state.exists(node));
  const last = wanted.split(".").at(-1) ?? "";
  const alike = known.filter(({ section }) => section.key === last).map(({ path }) => path);
  const near = nearest(
    wanted,
    known.map(({ path }) => path),
  );
  const meant = [...new Set([...alike, ...(near === undefined ? [] : [near])])];
  const said = `Unknown section key: '${wanted.slice(0, 200)}'.`;
  if (meant.length > 0) return `${said} Did you mean ${meant.map(quoted).join(" or ")}?`;
  const closed = closedIn(catalog, state).map(({ path }) => quoted(path));
  return closed.length === 0
    ? `${said} All sections are open.`
    : `${said} Sections that can be read: ${closed.join(", ")}.`;
}

const quoted = (path: string): string => `"${path}"`;
