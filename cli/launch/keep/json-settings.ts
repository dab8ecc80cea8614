/** Settings in JSON, edited by jsonc-parser: every other byte of the file stays as it is. */

import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  parseTree,
  type Node,
  type ParseError,
} from "jsonc-parser";
import {
  isOurs,
  MARK,
  SettingsProblem,
  type SettingsFormat,
  type WrittenEntry,
} from "./settings.ts";

/** `comments`: true if each entry gets a mark, because the program of the file reads comments and trailing commas. */
export const jsonSettings = (comments: boolean): SettingsFormat => ({
  write(text, entries, mark) {
    const written: WrittenEntry[] = [];
    let now = /\S/.test(text) ? text : `${text}{}\n`;
    for (const entry of entries) {
      const path = [...entry.path];
      const root = rootOf(now, comments);
      const depth = existingDepth(root, path);
      const node = findNodeAtLocation(root, path);
      const former = node && now.slice(node.offset, node.offset + node.length);
      written.push({ ...entry, depth, ...(former === undefined ? {} : { former }) });
      const comment = comments ? `/* ${mark} */ ` : "";
      const last = findNodeAtLocation(root, path.slice(0, depth))?.children?.at(-1);
      // The new property gets a separate line if the last one has one.
      const [gap = " "] = /\r?\n[ \t]*$/.exec(now.slice(0, last && startOf(now, last))) ?? [];
      const edits = modify(now, path, entry.value, {}).map(({ offset, length, content }) => ({
        offset,
        length,
        content: content.replace(/^,?/, (comma) =>
          comma === "" ? comment : `${comma}${gap}${comment}`,
        ),
      }));
      now = applyEdits(now, edits);
    }
    return { text: now, entries: written };
  },
  takeOut(text, entries, isMarkedOnly) {
    const left: string[] = [];
    let now = text;
    for (const entry of entries.toReversed()) {
      const node = findNodeAtLocation(rootOf(now), [...entry.path]);
      if (node === undefined) continue;
      const marked = isMarked(now, node);
      if (!marked && (isMarkedOnly || !isOurs(entry, getNodeValue(node))))
        left.push(entry.path.join("."));
      else if (entry.former === undefined) now = withoutEntry(now, entry);
      else now = splice(now, startOf(now, node), node.offset + node.length, entry.former);
    }
    return { text: now, left };
  },
});

function rootOf(text: string, allowTrailingComma = true): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma, allowEmptyContent: true });
  const [error] = errors;
  if (root?.type === "object" && error === undefined) return root;
  const line = text.slice(0, error?.offset ?? root?.offset ?? 0).split("\n").length;
  throw new SettingsProblem(`is not JSON: see line ${line}`);
}

/** The number of parts of a path that are there. Throws if a value on the way is no object. */
function existingDepth(root: Node, path: readonly string[]): number {
  for (let depth = 1; depth < path.length; depth++) {
    const node = findNodeAtLocation(root, path.slice(0, depth));
    if (node === undefined) return depth - 1;
    if (node.type !== "object")
      throw new SettingsProblem(
        `has a \`${path.slice(0, depth).join(".")}\` that is not an object`,
      );
  }
  return path.length - 1;
}

const splice = (text: string, start: number, end: number, content = ""): string =>
  text.slice(0, start) + content + text.slice(end);

/** The start of a node, with the mark before it. */
function startOf(text: string, { offset }: Node): number {
  const comment = text.lastIndexOf("/*", offset);
  const between = comment === -1 ? "" : text.slice(comment, offset);
  const isMark = between.startsWith(`/* ${MARK}`) && /^[^]*?\*\/\s*$/.test(between);
  return isMark && between.indexOf("*/") === between.lastIndexOf("*/") ? comment : offset;
}

/** True if a mark precedes the value, its key or an object around it. */
function isMarked(text: string, node: Node): boolean {
  for (let part: Node | undefined = node; part !== undefined; part = part.parent)
    if (startOf(text, part) !== part.offset) return true;
  return false;
}

/** Removes an entry, and the objects around it that were made for it and are empty now. */
function withoutEntry(text: string, { path, depth }: WrittenEntry): string {
  let now = text;
  for (let length = path.length; length > depth; length--) {
    const node = findNodeAtLocation(rootOf(now), path.slice(0, length));
    const property = node?.parent;
    if (node === undefined || property === undefined) return now;
    const isEmpty = length === path.length || node.children?.length === 0;
    // The user has added something to the object, so only the mark is removed.
    if (!isEmpty) return splice(now, startOf(now, property), property.offset);
    now = withoutProperty(now, property);
  }
  return now;
}

/** Removes a property with one comma and its mark. Comments of the user around it stay. */
function withoutProperty(text: string, property: Node): string {
  const siblings = property.parent?.children ?? [];
  const index = siblings.indexOf(property);
  const previous = siblings[index - 1];
  const start = startOf(text, property);
  const end = property.offset + property.length;
  const from = previous === undefined ? start : previous.offset + previous.length;
  if (previous !== undefined && /^\s*,\s*$/.test(text.slice(from, start)))
    return splice(text, from, end);
  const [comma = ""] = /^\s*,[ \t]*/.exec(text.slice(end)) ?? [];
  return splice(text, start, end + comma.length);
}
