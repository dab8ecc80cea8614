/** Which sections there are for a scope, and which of them are open. */

import { lineage, type Catalog, type Node } from "./catalog.ts";
import type { Scope } from "./section.ts";
import type { Overrides } from "./session.ts";

/** Which sections there are for a scope, and which of them are open. */
export type State = {
  readonly scope: Scope;
  /** Whether the section and all above it exist for this scope. */
  exists(node: Node): boolean;
  /** Whether it is open by itself; one above it may be closed all the same. */
  isOpen(node: Node): boolean;
  /** Whether the model sees it whole: it exists, it is open, and so is all above it. */
  isReached(node: Node): boolean;
};

/** The state that overrides make. `everything`: all that exists is open, as under `eager`. */
export function stateOf(scope: Scope, overrides: Overrides, everything = false): State {
  // Conditions are the author's code: one answer for each section, however often it is asked for.
  const known = new Map<Node, boolean>();
  const isThere = (node: Node): boolean => {
    let there = known.get(node);
    if (there === undefined) known.set(node, (there = node.section.when?.(scope) ?? true));
    return there;
  };
  const exists = (node: Node): boolean => lineage(node).every(isThere);
  const isOpen = (node: Node): boolean => {
    if (everything) return true;
    const override = overrides.get(node.path);
    if (override !== undefined) return override === "full";
    const { open, summary } = node.section;
    if (open === undefined) return summary === undefined;
    return typeof open === "function" ? open(scope) : open;
  };
  return {
    scope,
    exists,
    isOpen,
    isReached: (node) => exists(node) && lineage(node).every(isOpen),
  };
}

/** Whether a section is closed in some scope: its author or the caller closed it, or a function of the author's may. */
export function isClosable({ path, section }: Node, overrides: Overrides): boolean {
  const override = overrides.get(path);
  if (override !== undefined) return override === "summary";
  const { open, summary } = section;
  return open === undefined ? summary !== undefined : open !== true;
}

/** The same state with some more sections open. */
export function opened(state: State, nodes: readonly Node[]): State {
  const more = new Set(nodes);
  const isOpen = (node: Node): boolean => more.has(node) || state.isOpen(node);
  return {
    ...state,
    isOpen,
    isReached: (node) => state.exists(node) && lineage(node).every(isOpen),
  };
}

/** The sections that are not seen whole and can be read, in order. */
export const closedIn = (catalog: Catalog, state: State): readonly Node[] =>
  catalog.nodes.filter((node) => state.exists(node) && !state.isOpen(node));
