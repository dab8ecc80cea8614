import { Fault } from "../turn/fault.ts";
import { append } from "../turn/append.ts";
import { nearest } from "../diagnostics/nearest.ts";
import { bindText, placeholdersIn, type Scope, type Section } from "./section.ts";
import type { Tool } from "./tool.ts";
import type { Overrides } from "./session.ts";

/** A section in its place. */
export type Node = {
  readonly section: Section;
  /** The keys from the root, joined by dots: what a model calls the section. */
  readonly path: string;
  readonly depth: number;
  /** `2.1`: its number among its siblings, and theirs. */
  readonly number: string;
  readonly parent: Node | undefined;
  readonly children: readonly Node[];
};

/** All sections of a prompt, checked once. */
export type Catalog = {
  readonly roots: readonly Node[];
  /** In the order in which they are shown. */
  readonly nodes: readonly Node[];
  readonly byPath: ReadonlyMap<string, Node>;
  /** The section of each tool, by the tool's name. */
  readonly owners: ReadonlyMap<string, Node>;
  readonly tools: ReadonlyMap<string, Tool>;
};

type CatalogRules = {
  /** Names that tools must not have: those of the loaders. */
  readonly reserved?: readonly string[] | undefined;
  /** The parameters that texts may name; none: nobody knows them yet. */
  readonly params?: readonly string[] | undefined;
};

type Building = {
  readonly nodes: Node[];
  readonly byPath: Map<string, Node>;
  readonly owners: Map<string, Node>;
  readonly tools: Map<string, Tool>;
  readonly rules: CatalogRules;
};

/** Indexes sections. Throws a Fault for two of one path, two tools of one name, reserved names and unknown parameters. */
export function catalogOf(sections: readonly Section<never>[], rules: CatalogRules = {}): Catalog {
  // Whoever renders gives the parameters that the sections were written for.
  const given = sections as unknown as readonly Section[];
  const building: Building = {
    nodes: [],
    byPath: new Map(),
    owners: new Map(),
    tools: new Map(),
    rules,
  };
  const roots = given.map((one, at) => place(one, undefined, at, building));
  return { roots, ...building };
}

function place(
  section: Section,
  parent: Node | undefined,
  index: number,
  building: Building,
): Node {
  const path = parent === undefined ? section.key : `${parent.path}.${section.key}`;
  if (building.byPath.has(path))
    throw invalid(`Two sections have the path \`${path}\`; rename one.`);
  checkTexts(section, path, building.rules);
  const children: Node[] = [];
  const node: Node = {
    section,
    path,
    depth: parent === undefined ? 0 : parent.depth + 1,
    number: parent === undefined ? `${index + 1}` : `${parent.number}.${index + 1}`,
    parent,
    children,
  };
  building.nodes.push(node);
  building.byPath.set(path, node);
  for (const tool of section.tools ?? []) own(tool, node, building);
  for (const [at, child] of (section.children ?? []).entries())
    children.push(place(child, node, at, building));
  return node;
}

function own(tool: Tool, node: Node, building: Building): void {
  const { owners, tools, rules } = building;
  if (rules.reserved?.includes(tool.name) === true)
    throw invalid(
      `The tool name \`${tool.name}\` in section \`${node.path}\` is reserved; rename the tool.`,
    );
  const other = owners.get(tool.name);
  if (other !== undefined)
    throw invalid(
      `The tool \`${tool.name}\` is in both \`${other.path}\` and \`${node.path}\`; rename one, or move it to a section above both.`,
    );
  owners.set(tool.name, node);
  tools.set(tool.name, tool);
}

/** A text that names an unknown parameter would fail in the middle of a run. */
function checkTexts(section: Section, path: string, { params }: CatalogRules): void {
  if (params === undefined) return;
  for (const field of ["body", "summary"] as const)
    for (const name of placeholdersIn(section[field]))
      if (!params.includes(name))
        throw invalid(
          `The ${field} of section \`${path}\` names the parameter \`${name}\`, which is not among the agent's \`params\`${params.length === 0 ? "" : ` (${params.join(", ")})`}.`,
        );
}

const invalid = (message: string): Fault => new Fault("agent.invalid", message);

/** The node and all above it, from the root on. */
export function lineage(node: Node): readonly Node[] {
  return node.parent === undefined ? [node] : [...lineage(node.parent), node];
}

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
function opened(state: State, nodes: readonly Node[]): State {
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

/** Sections as a model sees them. */
export type View = {
  readonly text: string;
  /** Those of the sections that are shown whole, in order. */
  readonly tools: readonly Tool[];
  /** The paths of the sections that are shown by their summaries. */
  readonly summarized: readonly string[];
};

type Drawing = { readonly texts: string[]; readonly tools: Tool[]; readonly summarized: string[] };

/** Renders all sections, or some of them with what is below. `loader`: how the tool that reads sections is called. */
export function render({ roots }: Pick<Catalog, "roots">, state: State, loader: string): View {
  const drawing: Drawing = { texts: [], tools: [], summarized: [] };
  for (const node of roots) if (state.exists(node)) draw(node, state, { loader, ...drawing });
  const { texts, tools, summarized } = drawing;
  return { text: texts.join("\n\n"), tools, summarized };
}

function draw(node: Node, state: State, drawing: Drawing & { readonly loader: string }): void {
  const { section, path } = node;
  const { texts, tools, summarized, loader } = drawing;
  if (!state.isOpen(node)) {
    summarized.push(path);
    const summary = bindText(section.summary ?? "", state.scope);
    texts.push(joined(headingOf(node), summary, summarySuffix(path, loader)));
    return;
  }
  texts.push(joined(headingOf(node), bindText(section.body, state.scope)));
  append(tools, section.tools ?? []);
  for (const child of node.children) if (state.exists(child)) draw(child, state, drawing);
}

const headingOf = ({ depth, number, section }: Node): string =>
  `${"#".repeat(Math.min(depth + 2, 6))} ${number}. ${section.title}`;

const joined = (...texts: readonly string[]): string =>
  texts.filter((text) => text !== "").join("\n\n");

/** What a closed section ends with. Whether it has tools is not said here; the loader lists those. */
const summarySuffix = (path: string, loader: string): string =>
  `---\n[This section is summarized. To view full content, call \`${loader}\` with key "${path}".]`;

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
