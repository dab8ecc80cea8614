/** Finds the keys of a YAML text that stand at its left edge, by their lines. */

import { isMap, isSeq, parseDocument, type YAMLSeq } from "yaml";
import { withoutReturns, type Segment } from "./line-settings.ts";
import { includes, SettingsProblem } from "./settings-text.ts";

const key =
  /^(?:"([^"\\]+)"\s*|'([^']+)'\s*|([^\s#"'&*!|>%@`[\]{},-][^:#]*|-[^\s:][^:]*)):(?=\s|$)/;

export function yamlSegments(lines: readonly string[]): Segment[] {
  const segments: Segment[] = [];
  for (const [index, line] of withoutReturns(lines).entries()) {
    if (line.trim() === "" || /^\s*#/.test(line) || /^(?:---\s*$|%)/.test(line)) continue;
    const last = segments.at(-1);
    const [, double, single, plain] = key.exec(line) ?? [];
    const name = double ?? single ?? plain?.trimEnd();
    if (name !== undefined)
      segments.push({ path: [name], first: index, end: index + 1, isHeader: false });
    // A list may stand at the left edge too.
    else if (last !== undefined && /^(?:\s|-\s|-$|[\]}])/.test(line))
      segments[segments.length - 1] = { ...last, end: index + 1 };
    else throw new SettingsProblem(`is no plain list of keys: look at line ${index + 1}`);
  }
  return segments;
}

/** The value of the one key in a text. */
export function yamlValue(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) return undefined;
  const value: unknown = document.toJS();
  return typeof value === "object" && value !== null ? Object.values(value)[0] : undefined;
}

/** The lines of the member that is like a value, in the list of the one key of a text. */
export function yamlItem(
  text: string,
  value: unknown,
): { readonly first: number; readonly end: number; readonly isOnly: boolean } | undefined {
  const list = listIn(text);
  const index = list?.items.findIndex((item) => {
    const range = rangeOf(item);
    return range !== undefined && includes(plainValue(item), value);
  });
  const item = index === undefined ? undefined : list?.items[index];
  const range = rangeOf(item);
  if (range === undefined) return undefined;
  const first = text.slice(0, range[0]).split("\n").length - 1;
  const end = text.slice(0, range[1]).trimEnd().split("\n").length;
  return { first, end, isOnly: list?.items.length === 1 };
}

function listIn(text: string): YAMLSeq | undefined {
  const { contents } = parseDocument(text, { prettyErrors: false });
  const value: unknown = isMap(contents) ? contents.items[0]?.value : undefined;
  return isSeq(value) && value.flow !== true ? value : undefined;
}

function plainValue(node: unknown): unknown {
  return JSON.parse(JSON.stringify(node ?? null)) as unknown;
}

function rangeOf(node: unknown): readonly [number, number, number] | undefined {
  return isMap(node) ? (node.range ?? undefined) : undefined;
}
