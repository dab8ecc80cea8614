import { nearest } from "../diagnostics/nearest.ts";
import { append } from "../turn/append.ts";
import type { Fields } from "../turn/turn.ts";
import type { Overrides, SessionView } from "./session.ts";
import { mistake, type Tool } from "./tool.ts";

/** Input of the texts and conditions of sections. */
export type Scope<Params = Fields> = { readonly params: Params; readonly session: SessionView };

/** A text with a `{{name}}` for each parameter, or a function that writes the text. */
export type Text<Params = Fields> = string | ((scope: Scope<Params>) => string);

/** A named group of text and tools. A closed section shows its summary, an open one its body and tools. */
export type Section<Params = Fields> = {
  readonly key: string;
  readonly title: string;
  readonly body: Text<Params>;
  /** Text of the closed section. A section with a summary starts closed, one without starts open. */
  readonly summary?: Text<Params> | undefined;
  /** Overrides the start state that `summary` gives. */
  readonly open?: boolean | ((scope: Scope<Params>) => boolean) | undefined;
  /**
   * Access condition. If it is false, the section and all its descendants do not
   * exist: they are not rendered, listed, readable or callable.
   */
  readonly when?: ((scope: Scope<Params>) => boolean) | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly children?: readonly Section<Params>[] | undefined;
};

/** Dots are not allowed: they join keys to the paths by which models name sections. */
const KEY = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Defines a section. Throws a Fault for an invalid key and for a closable section without a summary. */
export function section<Params = Fields>(
  key: string,
  rest: Omit<Section<Params>, "key">,
): Section<Params> {
  if (!KEY.test(key))
    throw mistake(
      `The section key ${JSON.stringify(key)} must begin with a small letter or digit and go on with those, \`_\` or \`-\`, 64 at most.`,
    );
  if (rest.open !== undefined && rest.open !== true && rest.summary === undefined)
    throw mistake(
      `The section \`${key}\` can be closed and has no summary to show then. Give it a \`summary\`, or leave \`open\` out.`,
    );
  return { key, ...rest };
}

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;

/** The parameters that a text names. The parameters that a function reads are unknown. */
const placeholdersIn = (text: Text | undefined): readonly string[] =>
  typeof text === "string" ? [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name) : [];

/** Writes a text for a scope. */
function bindText(text: Text, scope: Scope): string {
  if (typeof text === "function") return text(scope).trim();
  return text.trim().replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = scope.params[name];
    if (value === undefined)
      throw mistake(`The prompt needs the parameter \`${name}\`, and none was given.`);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/** A section and its place in the prompt. */
export type Node = {
  readonly section: Section;
  /** The keys from the root, joined by dots. Models name sections by it. */
  readonly path: string;
  /** The section and its ancestors, from the root. */
  readonly lineage: readonly Node[];
  /** `2.1`: the number of the parent, then the number of the section among its siblings. */
  readonly number: string;
  readonly children: readonly Node[];
};

/** All sections of a prompt, checked once. */
export type Catalog = {
  readonly roots: readonly Node[];
  /** In the order of the prompt. */
  readonly nodes: readonly Node[];
  readonly byPath: ReadonlyMap<string, Node>;
  /** The section of each tool, by the name of the tool. */
  readonly owners: ReadonlyMap<string, Node>;
  readonly tools: ReadonlyMap<string, Tool>;
};

type CatalogRules = {
  /** The names of the loaders, which no tool may have. */
  readonly reserved?: readonly string[] | undefined;
  /** The parameters that texts may name; undefined: any. */
  readonly params?: readonly string[] | undefined;
};

/** Indexes sections. Throws a Fault for repeated paths and tool names, reserved names and unknown parameters. */
export function catalogOf(sections: readonly Section<never>[], rules: CatalogRules = {}): Catalog {
  const nodes: Node[] = [];
  const byPath = new Map<string, Node>();
  const owners = new Map<string, Node>();
  const tools = new Map<string, Tool>();

  function place(section: Section, index: number, parent?: Node): Node {
    const path = parent === undefined ? section.key : `${parent.path}.${section.key}`;
    if (byPath.has(path)) throw mistake(`Two sections have the path \`${path}\`; rename one.`);
    checkTexts(section, path, rules.params);
    const children: Node[] = [];
    const lineage: Node[] = [...(parent?.lineage ?? [])];
    const number = parent === undefined ? `${index + 1}` : `${parent.number}.${index + 1}`;
    const node: Node = { section, path, lineage, number, children };
    lineage.push(node);
    nodes.push(node);
    byPath.set(path, node);
    for (const tool of section.tools ?? []) own(tool, node);
    for (const [at, child] of (section.children ?? []).entries())
      children.push(place(child, at, node));
    return node;
  }

  function own(tool: Tool, node: Node): void {
    if (rules.reserved?.includes(tool.name) === true)
      throw mistake(
        `The tool name \`${tool.name}\` in section \`${node.path}\` is reserved; rename the tool.`,
      );
    const other = owners.get(tool.name);
    if (other !== undefined)
      throw mistake(
        `The tool \`${tool.name}\` is in both \`${other.path}\` and \`${node.path}\`; rename one, or move it to a section above both.`,
      );
    owners.set(tool.name, node);
    tools.set(tool.name, tool);
  }

  // The renderer passes the parameters for which the sections were written.
  const given = sections as unknown as readonly Section[];
  return { roots: given.map((one, at) => place(one, at)), nodes, byPath, owners, tools };
}

/** Checks the parameters in texts at definition, because a missing one would end a run. */
function checkTexts(section: Section, path: string, params: CatalogRules["params"]): void {
  if (params === undefined) return;
  for (const field of ["body", "summary"] as const)
    for (const name of placeholdersIn(section[field]))
      if (!params.includes(name))
        throw mistake(
          `The ${field} of section \`${path}\` names the parameter \`${name}\`, which is not among the agent's \`params\`${params.length === 0 ? "" : ` (${params.join(", ")})`}.`,
        );
}

/** The sections that exist in a scope, and those of them that are open. */
export type State = {
  readonly scope: Scope;
  /** The conditions of the section and its ancestors hold. */
  readonly exists: (node: Node) => boolean;
  /** The section itself is open; its ancestors may be closed. */
  readonly isOpen: (node: Node) => boolean;
  /** The prompt shows the section whole: it exists, and it and its ancestors are open. */
  readonly isReached: (node: Node) => boolean;
};

/** The state that overrides give. `everything` opens all sections, as `eager` does. */
export function stateOf(scope: Scope, overrides: Overrides, everything = false): State {
  // A condition is the author's code: it runs once for each section.
  const known = new Map<Node, boolean>();
  const holds = (node: Node): boolean => {
    let answer = known.get(node);
    if (answer === undefined) known.set(node, (answer = node.section.when?.(scope) ?? true));
    return answer;
  };
  const isOpen = (node: Node): boolean => {
    if (everything) return true;
    const override = overrides.get(node.path);
    if (override !== undefined) return override === "full";
    const { open, summary } = node.section;
    if (open === undefined) return summary === undefined;
    return typeof open === "function" ? open(scope) : open;
  };
  return stateWith(scope, ({ lineage }) => lineage.every(holds), isOpen);
}

const stateWith = (scope: Scope, exists: State["exists"], isOpen: State["isOpen"]): State => ({
  scope,
  exists,
  isOpen,
  isReached: (node) => exists(node) && node.lineage.every(isOpen),
});

/** A section can be closed in some scope: by its author, by a function of its author, or by the caller. */
export function isClosable({ path, section }: Node, overrides: Overrides): boolean {
  const override = overrides.get(path);
  if (override !== undefined) return override === "summary";
  const { open, summary } = section;
  return open === undefined ? summary !== undefined : open !== true;
}

/** The sections that a model can read and does not see whole, in order. */
export const closedIn = (catalog: Catalog, state: State): readonly Node[] =>
  catalog.nodes.filter((node) => state.exists(node) && !state.isOpen(node));

/** The rendered sections. */
export type View = {
  readonly text: string;
  /** The tools of open sections, in order. */
  readonly tools: readonly Tool[];
  /** The paths of closed sections. */
  readonly summarized: readonly string[];
};

/** Renders sections and their descendants. `loader`: the name of the tool that reads sections. */
export function render({ roots }: Pick<Catalog, "roots">, state: State, loader: string): View {
  const texts: string[] = [];
  const tools: Tool[] = [];
  const summarized: string[] = [];
  const draw = (node: Node): void => {
    if (!state.exists(node)) return;
    const { section, path, lineage, number, children } = node;
    const heading = `${"#".repeat(Math.min(lineage.length + 1, 6))} ${number}. ${section.title}`;
    const isOpen = state.isOpen(node);
    const text = bindText(isOpen ? section.body : (section.summary ?? ""), state.scope);
    texts.push(text === "" ? heading : `${heading}\n\n${text}`);
    if (!isOpen) {
      summarized.push(path);
      // The loader lists the tools of closed sections, so the summary does not.
      texts.push(
        `---\n[This section is summarized. To view full content, call \`${loader}\` with key "${path}".]`,
      );
      return;
    }
    append(tools, section.tools ?? []);
    children.forEach(draw);
  };
  roots.forEach(draw);
  return { text: texts.join("\n\n"), tools, summarized };
}

/** The content and tools that a reading adds. */
export type ReadSectionResult = {
  readonly content: string;
  /** The tools of all sections that became visible. */
  readonly expandedTools: readonly Tool[];
};

type ReadOf<Type> = {
  readonly type: Type;
  readonly path: string;
  readonly result: ReadSectionResult;
  /** The tools in the content. */
  readonly tools: readonly Tool[];
};

/** A reading that opens the sections `opens`, from the root. */
export type OpenedReading = ReadOf<"opened"> & { readonly opens: readonly string[] };

/** `already`: the section was open, so that a repeated reading changes nothing. */
export type Reading =
  | OpenedReading
  | ReadOf<"already">
  | { readonly type: "unknown"; readonly message: string };

/** The result of reading a section. The function has no side effects. */
export function readCatalog(catalog: Catalog, key: string, state: State, loader: string): Reading {
  const node = catalog.byPath.get(key.trim());
  if (node === undefined || !state.exists(node))
    return { type: "unknown", message: unknownKey(catalog, key.trim(), state) };
  const { path } = node;
  if (state.isReached(node)) {
    const { text, tools } = render({ roots: [node] }, state, loader);
    return { type: "already", path, result: { content: text, expandedTools: [] }, tools };
  }
  // Reading a section opens its closed ancestors too.
  const opening = new Set(node.lineage.filter((one) => !state.isOpen(one)));
  const after = stateWith(
    state.scope,
    state.exists,
    (one) => opening.has(one) || state.isOpen(one),
  );
  const [first = node] = opening;
  const { text, tools } = render({ roots: [first] }, after, loader);
  const before = new Set(render({ roots: [first] }, state, loader).tools);
  const expandedTools = tools.filter((tool) => !before.has(tool));
  const opens = Array.from(opening, (one) => one.path);
  return { type: "opened", path, opens, result: { content: text, expandedTools }, tools };
}

/** The paths that a wrong path may mean: those with its last key, and the nearest. */
export function pathsLike(wanted: string, nodes: readonly Node[]): readonly string[] {
  const last = wanted.split(".").at(-1);
  const alike = nodes.filter(({ section }) => section.key === last).map(({ path }) => path);
  const paths = nodes.map(({ path }) => path);
  return [...new Set([...alike, nearest(wanted, paths) ?? []].flat())];
}

/** Suggests keys among the sections that exist in the scope. */
function unknownKey(catalog: Catalog, wanted: string, state: State): string {
  const meant = pathsLike(wanted, catalog.nodes.filter(state.exists));
  const quoted = (paths: readonly string[]): readonly string[] => paths.map((path) => `"${path}"`);
  const unknown = `Unknown section key: '${wanted.slice(0, 200)}'.`;
  if (meant.length > 0) return `${unknown} Did you mean ${quoted(meant).join(" or ")}?`;
  const closed = closedIn(catalog, state).map(({ path }) => path);
  return closed.length === 0
    ? `${unknown} All sections are open.`
    : `${unknown} Sections that can be read: ${quoted(closed).join(", ")}.`;
}

/** The text that the model receives for a reading; the strategy adds the definitions of tools. */
export const readingText = (reading: Reading): string =>
  reading.type === "unknown" ? reading.message : `${leadOf(reading)}\n\n${reading.result.content}`;

/** First line of the result of a reading. */
export const leadOf = ({ type, path }: Exclude<Reading, { type: "unknown" }>): string =>
  type === "already" ? "Section is already expanded." : `Content of section '${path}':`;
