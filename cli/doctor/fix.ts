/** Writes capabilities into a configuration file, by changing its text and nothing around it. */
import { isDeepStrictEqual } from "node:util";
import {
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  parseDocument,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import {
  LONGEST,
  maskReferences,
  type Path,
  readConfigFile,
  replaceFile,
} from "../../src/configuration.ts";
import type { Capabilities } from "../../src/inspection.ts";
import { Fault, isFields, readText } from "../../src/terminal.ts";

type Fix = {
  readonly upstream: string;
  readonly model: string;
  readonly capabilities: Capabilities;
};

/** Gives the text that is there now, and the path of the copy that is kept of what was there. */
export function writeFix(
  file: string,
  fix: Fix,
): { readonly text: string; readonly backup: string } {
  const text = fixedText(readText(file, { limit: LONGEST }), fix);
  return { text, backup: replaceFile(file, text) };
}

/** For this model alone: what was shown of one need not hold for another. */
export function fixedText(text: string, { upstream, model, capabilities }: Fix): string {
  const before = valueOf(text);
  if (!isFields(at(before, ["upstreams", upstream]))) throw noPlace(upstream);
  const place = ["upstreams", upstream, "capabilities", "models"];
  const entries = at(before, place);
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  const known = list.findIndex((entry) => isFields(entry) && entry.match === model);
  const changes: readonly Change[] =
    known === -1
      ? [{ path: [...place, list.length], value: { match: model, ...capabilities } }]
      : leaves(capabilities).map(({ path, value }) => ({
          path: [...place, known, ...path],
          value,
        }));
  let after = text;
  let expected = before;
  for (const { path, value } of changes) {
    expected = withValue(expected, path, value);
    const next = setInText(after, path, value);
    if (next === undefined) throw noPlace(upstream);
    after = next;
  }
  // Aliases and merges share places: what is written for one must not change another.
  if (!isDeepStrictEqual(valueOf(after), expected)) throw noPlace(upstream);
  return after;
}

const noPlace = (upstream: string): Fault =>
  new Fault(
    "request.invalid",
    `The file has no place of its own for \`upstreams.${upstream}.capabilities\`, so nothing is written; add the lines above by hand.`,
  );

type Change = { readonly path: Path; readonly value: unknown };

/** Variables stand for themselves here: what they hold does not matter. */
const valueOf = (text: string): unknown => readConfigFile(text, "", (name) => `\${${name}}`).value;

function at(value: unknown, path: Path): unknown {
  let inner = value;
  for (const step of path) inner = (inner as Record<string | number, unknown> | undefined)?.[step];
  return inner;
}

/** Every value below a group; lists are replaced as a whole. */
function leaves(group: object, path: Path = []): readonly Change[] {
  return Object.entries(group).flatMap(([key, value]): readonly Change[] =>
    isFields(value) ? leaves(value, [...path, key]) : [{ path: [...path, key], value }],
  );
}

function withValue(group: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === "number") {
    const list: readonly unknown[] = Array.isArray(group) ? group : [];
    return list.toSpliced(step, 1, withValue(list[step], rest, value));
  }
  const fields = isFields(group) ? group : {};
  return { ...fields, [step]: withValue(fields[step], rest, value) };
}

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
