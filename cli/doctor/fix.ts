/** Writes capabilities into a configuration file in YAML or JSON, and leaves every other character as it is. */

import { isDeepStrictEqual } from "node:util";
import { Document, isMap, isScalar, isSeq, parseDocument, stringify } from "yaml";
import type { Node, ParsedNode, YAMLMap, YAMLSeq } from "yaml";
import { LONGEST, maskReferences, replaceFile, type Path } from "../../src/configuration.ts";
import type { Capabilities } from "../../src/inspection.ts";
import type { Fault } from "../../src/terminal.ts";
import { isFields, readTextFile, refusal } from "../../src/terminal.ts";

type Fix = {
  readonly upstream: string;
  readonly model: string;
  readonly capabilities: Capabilities;
};

/** Gives the new text, and the path of the copy that is kept of the old one. */
export function writeFix(
  file: string,
  fix: Fix,
): { readonly text: string; readonly backup: string } {
  const text = fixedText(readTextFile(file, { limit: LONGEST }), fix);
  return { text, backup: replaceFile(file, text) };
}

/** Sets the capabilities of this model alone: another model was not probed. */
export function fixedText(text: string, { upstream, model, capabilities }: Fix): string {
  const document = documentOf(text);
  const place = ["upstreams", upstream, "capabilities", "models"];
  if (document.errors.length > 0 || !isMap(document.getIn(place.slice(0, 2), true)))
    throw noPlace(upstream);
  const entries = document.getIn(place, true);
  const items: readonly unknown[] = isSeq(entries) ? entries.items : [];
  const known = items.findIndex((item) => isMap(item) && item.get("match") === model);
  const changes: readonly Change[] =
    known === -1
      ? [{ path: [...place, items.length], value: { match: model, ...capabilities } }]
      : leaves(capabilities, [...place, known]);
  // Without anchors: aliases and merges share places, and a change of one must not change another.
  const expected = new Document(document.toJS(), { aliasDuplicateObjects: false });
  let after = text;
  for (const { path, value } of changes) {
    const next = setInText(after, path, value);
    if (next === undefined) throw noPlace(upstream);
    after = next;
    expected.setIn(path, value);
  }
  if (!isDeepStrictEqual(documentOf(after).toJS(), expected.toJS())) throw noPlace(upstream);
  return after;
}

const noPlace = (upstream: string): Fault =>
  refusal(
    `The file has no place of its own for \`upstreams.${upstream}.capabilities\`, so nothing is written; add the lines above by hand.`,
  );

type Change = { readonly path: Path; readonly value: unknown };

/** Every value below a group; lists are replaced as a whole. */
function leaves(group: object, path: Path): readonly Change[] {
  return Object.entries(group).flatMap(([key, value]): readonly Change[] =>
    isFields(value) ? leaves(value, [...path, key]) : [{ path: [...path, key], value }],
  );
}

/**
 * References to variables are replaced by signs of the same length, so that offsets in the
 * document are offsets in the text.
 */
const masked = (text: string): string =>
  maskReferences(text, { lookUp: () => "", readFile: () => "" }).text;

const documentOf = (text: string) => parseDocument(masked(text), { uniqueKeys: false });

/** The text with a value at a path; undefined if there is no place for it, such as below an alias. */
export function setInText(text: string, path: Path, value: unknown): string | undefined {
  const hidden = masked(text);
  const document = documentOf(text);
  if (document.errors.length > 0) return undefined;
  let node: ParsedNode | null = document.contents;
  for (const [depth, step] of path.entries()) {
    if (!isMap(node) && !isSeq(node)) return undefined;
    const next = childOf(node, step);
    if (next === undefined) return insert(text, hidden, node, path.slice(depth), value);
    node = next;
  }
  return node === null ? undefined : replace(text, node, value);
}

function replace(text: string, node: ParsedNode, value: unknown): string {
  const [start] = node.range;
  const isBlock = (isMap(node) || isSeq(node)) && node.flow !== true;
  const end = lastNode(node)?.range?.[1] ?? node.range[1];
  // A list may have the indent of its key; a value in brackets needs a larger one.
  const written = `${isBlock ? "  " : ""}${JSON.stringify(value)}`;
  const isLine = text[end - 1] === "\n";
  return `${text.slice(0, start)}${written}${isLine ? "\n" : ""}${text.slice(end)}`;
}

function childOf(node: YAMLMap.Parsed | YAMLSeq.Parsed, step: string | number) {
  if (isSeq(node)) return typeof step === "number" ? node.items[step] : undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair === undefined ? undefined : (pair.value ?? undefined);
}

/** Adds what is left of a path to a group or list; a step that is a number stands for the next place of a list. */
function insert(
  text: string,
  hidden: string,
  node: YAMLMap.Parsed | YAMLSeq.Parsed,
  [first, ...rest]: Path,
  value: unknown,
): string | undefined {
  if (first === undefined || node.items.length === 0) return undefined;
  const inner = rest.reduceRight<unknown>(
    (so, step) => (typeof step === "number" ? [so] : { [step]: so }),
    value,
  );
  if (node.flow === true) {
    const closing = (node.range[1] ?? 0) - 1;
    const end = hidden.slice(0, closing).trimEnd().length;
    const comma = hidden[end - 1] === "," ? " " : ", ";
    const entry = isSeq(node) ? "" : `${JSON.stringify(first)}: `;
    return `${text.slice(0, end)}${comma}${entry}${JSON.stringify(inner)}${text.slice(end)}`;
  }
  const lines = stringify(isSeq(node) ? [inner] : { [first]: inner }, { lineWidth: 0 });
  const indent = indentOf(hidden, node);
  const at = endOf(node, hidden);
  const block = lines.trimEnd().replaceAll(/^/gm, indent);
  const isOpen = at > 0 && text[at - 1] !== "\n";
  return `${text.slice(0, at)}${isOpen ? "\n" : ""}${block}\n${text.slice(at)}`;
}

function indentOf(hidden: string, node: YAMLMap.Parsed | YAMLSeq.Parsed): string {
  const [start] = node.range;
  const lineStart = hidden.lastIndexOf("\n", start - 1) + 1;
  return " ".repeat(start - lineStart);
}

/** The start of the line after the last value of a block, because comments below it may belong to the next key. */
function endOf(node: YAMLMap.Parsed | YAMLSeq.Parsed, hidden: string): number {
  const last: unknown = node.items.at(-1);
  const value = lastNode(last);
  const end = value?.range?.[1] ?? node.range[1];
  // A block scalar ends with its own line break.
  if (hidden[end - 1] === "\n") return end;
  const line = hidden.indexOf("\n", end);
  return line === -1 ? hidden.length : line + 1;
}

function lastNode(entry: unknown): Node | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const { value, key } = entry as { readonly value?: Node | null; readonly key?: Node };
  const node = "key" in entry ? (value ?? key) : (entry as Node);
  if ((isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0)
    return lastNode(node.items.at(-1));
  return node ?? undefined;
}
