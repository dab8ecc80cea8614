/** Members of ours at the head of a list that a key at the left edge of a YAML text holds. */

import { endedAs, inline, insert, linesOf, type Segment } from "./line-settings.ts";
import {
  MARK,
  SettingsProblem,
  type Entry,
  type SettingsFormat,
  type WrittenEntry,
} from "./settings-text.ts";
import { yamlItem, yamlSegments, yamlValue } from "./yaml-lines.ts";

export const listSettings: SettingsFormat = {
  write(text, entries, mark) {
    const lines = linesOf(text);
    const written = entries.map((entry): WrittenEntry => {
      const segment = segmentOf(lines, entry);
      const at =
        segment === undefined
          ? openList(lines, endedAs(text, [`${entry.path.join(".")}:`]))
          : headOf(lines, segment);
      const indent = /^\s*(?=-)/.exec(lines[at] ?? "")?.[0] ?? "  ";
      const line = `${indent}- ${inline(entry.value)} # ${mark}`;
      insert(lines, at, endedAs(text, [line]));
      return { ...entry, depth: segment === undefined ? 0 : 1 };
    });
    return { text: lines.join("\n"), entries: written };
  },
  takeOut(text, entries) {
    const lines = linesOf(text);
    const kept = lines.filter((line) => !/^\s*-/.test(line) || !line.includes(`# ${MARK}`));
    const hadMark = kept.length < lines.length;
    for (const entry of entries) {
      if (!hadMark) removeItem(kept, entry);
      const segment = segmentOf(kept, entry);
      const isEmpty = segment !== undefined && yamlValue(textOf(kept, segment)) === null;
      if (entry.depth === 0 && isEmpty) kept.splice(segment.first, segment.end - segment.first);
    }
    return { text: kept.join("\n"), left: [] };
  },
};

const textOf = (lines: readonly string[], { first, end }: Segment): string =>
  lines.slice(first, end).join("\n");

const segmentOf = (lines: readonly string[], { path }: Entry): Segment | undefined =>
  yamlSegments(lines).find((one) => one.path[0] === path[0]);

/** A new key at the end, and the line for its first member. */
function openList(lines: string[], opening: readonly string[]): number {
  const isOpen = lines.at(-1) !== "";
  if (isOpen) lines.push("");
  insert(lines, lines.length - 1, opening);
  return lines.length - 1;
}

function headOf(lines: readonly string[], segment: Segment): number {
  const value = yamlValue(textOf(lines, segment));
  if (/:\s*(?:#.*)?$/.test(lines[segment.first] ?? "") && (value === null || Array.isArray(value)))
    return segment.first + 1;
  throw new SettingsProblem(
    `has \`${segment.path.join(".")}\` in one piece (line ${segment.first + 1}); write it as a list with a line for each member`,
  );
}

function removeItem(lines: string[], entry: Entry): void {
  const segment = segmentOf(lines, entry);
  const item = segment && yamlItem(textOf(lines, segment), entry.value);
  if (segment !== undefined && item !== undefined)
    lines.splice(segment.first + item.first, item.end - item.first);
}
