import { append } from "../turn/append.ts";
import type { Catalog, Node } from "./catalog.ts";
import { bindText } from "./template.ts";
import type { Tool } from "./tool.ts";
import type { State } from "./visibility.ts";

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
