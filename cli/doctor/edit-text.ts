/** Changes single values in the text of a YAML or JSON file, and leaves every other character as it is. */

import { isMap, isScalar, isSeq, parseDocument, stringify } from "yaml";
import type { Node, ParsedNode, YAMLMap, YAMLSeq } from "yaml";
import type { Path } from "../../src/diagnostics/problem.ts";
import { maskReferences } from "../../src/host/config/references.ts";

/**
 * The text with a value at a path, or undefined where there is no place for it,
 * such as below an alias. References to variables are hidden from the parser by
 * signs of the same length, so that places in the one text are places in the other.
 */
export function setInText(text: string, path: Path, value: unknown): string | undefined {
  const hidden = maskReferences(text, { lookUp: () => "", readFile: () => "" }).text;
  const document = parseDocument(hidden, { uniqueKeys: false });
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
  // A list may begin right below its key, where a value in brackets must stand farther in.
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

/** The blanks before the entries of a block. */
function indentOf(hidden: string, node: YAMLMap.Parsed | YAMLSeq.Parsed): string {
  const [start] = node.range;
  const lineStart = hidden.lastIndexOf("\n", start - 1) + 1;
  return " ".repeat(start - lineStart);
}

/** Behind the line on which the last value of a block ends: what follows may be a comment on something else. */
function endOf(node: YAMLMap.Parsed | YAMLSeq.Parsed, hidden: string): number {
  const last: unknown = node.items.at(-1);
  const value = lastNode(last);
  const end = value?.range?.[1] ?? node.range[1];
  // A block scalar ends with its own line break.
  if (hidden[end - 1] === "\n") return end;
  const line = hidden.indexOf("\n", end);
  return line === -1 ? hidden.length : line + 1;
}

/** The last thing that is written of an entry. */
function lastNode(entry: unknown): Node | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const { value, key } = entry as { readonly value?: Node | null; readonly key?: Node };
  const node = "key" in entry ? (value ?? key) : (entry as Node);
  if ((isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0)
    return lastNode(node.items.at(-1));
  return node ?? undefined;
}
