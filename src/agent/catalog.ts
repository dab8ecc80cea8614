import { Fault } from "../turn/fault.ts";
import type { Section } from "./section.ts";
import { placeholdersIn } from "./template.ts";
import type { Tool } from "./tool.ts";

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

export type CatalogRules = {
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
