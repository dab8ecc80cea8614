import {
  jsonValue,
  readObject,
  rootObject,
  skipBlank,
  type Member,
  type ObjectPlace,
} from "./json-members.ts";
import {
  isOurs,
  lineEnd,
  MARK,
  SettingsProblem,
  type Entry,
  type SettingsFormat,
  type WrittenEntry,
} from "./settings-text.ts";

/** Settings in JSON; `comments`: whether their program reads comments in it. */
export const jsonSettings = (comments: boolean): SettingsFormat => ({
  write(text, entries, mark) {
    const written: WrittenEntry[] = [];
    let now = /\S/.test(text) ? text : `${text}{}${lineEnd(text)}`;
    const comment = comments ? `/* ${mark} */ ` : "";
    for (const entry of entries) {
      const { holder, member, depth } = place(now, entry.path);
      const former = member && now.slice(member.keyStart, member.valueEnd);
      written.push({ ...entry, depth, ...(former === undefined ? {} : { former }) });
      const key = entry.path[depth] ?? "";
      const value = nested(entry.path.slice(depth + 1), entry.value);
      const line = `${comment}${JSON.stringify(key)}: ${JSON.stringify(value)}`;
      now = member === undefined ? added(now, holder, line) : replaced(now, member, line);
    }
    return { text: now, entries: written };
  },
  takeOut(text, entries) {
    const left: string[] = [];
    let now = text;
    for (const entry of entries.toReversed()) {
      const { member, marked } = find(now, entry.path);
      if (member === undefined) continue;
      const value = jsonValue(now.slice(member.valueStart, member.valueEnd));
      if (!isOurs(entry, value, marked)) left.push(entry.path.join("."));
      else if (entry.former === undefined) now = pruned(now, entry);
      else now = replaced(now, member, entry.former);
    }
    return { text: now, left };
  },
});

type Found = {
  /** The innermost object on the way to the entry. */
  readonly holder: ObjectPlace;
  /** How many parts of the path lead to it. */
  readonly depth: number;
  readonly member?: Member | undefined;
  /** Whether it, or what it stands in, has our mark. */
  readonly marked: boolean;
};

function find(text: string, path: readonly string[]): Found {
  let holder = rootObject(text, MARK);
  if (holder === undefined)
    return { holder: { start: 0, end: 0, members: [] }, depth: 0, marked: false };
  let marked = false;
  for (const [depth, key] of path.entries()) {
    const member: Member | undefined = holder.members.findLast((one) => one.key === key);
    marked ||= member?.marked === true;
    if (depth === path.length - 1) return { holder, depth, member, marked };
    if (member === undefined || text[member.valueStart] !== "{") return { holder, depth, marked };
    holder = readObject(text, member.valueStart, MARK);
  }
  return { holder, depth: 0, marked };
}

/** As `find`, for an entry that shall be written. */
function place(text: string, path: readonly string[]): Found {
  const found = find(text, path);
  const inTheWay = found.holder.members.find(({ key }) => key === path[found.depth]);
  if (found.member === undefined && inTheWay !== undefined)
    throw new SettingsProblem(
      `has a \`${path.slice(0, found.depth + 1).join(".")}\` that is no object`,
    );
  return found;
}

const nested = (path: readonly string[], value: Entry["value"]): Entry["value"] =>
  path.reduceRight<Entry["value"]>((inner, key) => ({ [key]: inner }), value);

/** As the first member: what follows keeps its commas, also one at the end. */
function added(text: string, { start, end, members }: ObjectPlace, line: string): string {
  const [blank = ""] = /^\s*/.exec(text.slice(start + 1, end)) ?? [];
  const [first] = members;
  if (first !== undefined)
    return `${text.slice(0, start + 1)}${blank}${line},${blank === "" ? " " : ""}${text.slice(start + 1)}`;
  const [indent = ""] = /(?<=^|\n)[ \t]*(?=[^\n]*$)/.exec(text.slice(0, start)) ?? [];
  const ending = lineEnd(text);
  return `${text.slice(0, start + 1)}${ending}${indent}  ${line}${ending}${indent}${text.slice(start + 1).trimStart()}`;
}

const replaced = (text: string, { start, valueEnd }: Member, line: string): string =>
  text.slice(0, start) + line + text.slice(valueEnd);

/** Without the entry, and without the objects around it that were made for it and are empty now. */
function pruned(text: string, { path, depth }: WrittenEntry): string {
  let now = text;
  for (let length = path.length; length > depth; length--) {
    const { holder, member } = find(now, path.slice(0, length));
    if (member === undefined) return now;
    const isEmpty = length === path.length || jsonIsEmpty(now, member);
    // What somebody has put beside ours is not ours.
    if (!isEmpty) return now.slice(0, member.start) + now.slice(member.keyStart);
    now = without(now, holder, member);
  }
  return now;
}

const jsonIsEmpty = (text: string, { valueStart, valueEnd }: Member): boolean =>
  /^\{\s*\}$/.test(text.slice(valueStart, valueEnd));

function without(text: string, { start, end, members }: ObjectPlace, member: Member): string {
  const comma = skipBlank(text, member.valueEnd);
  const head = text.slice(0, member.start);
  if (text[comma] === ",") {
    const tail = text.slice(member.valueEnd, comma) + text.slice(comma + 1);
    return /^[ \t]*\r?\n/.test(tail) ? head.trimEnd() + tail : head + tail.trimStart();
  }
  const tail = text.slice(member.valueEnd);
  const before = members[members.indexOf(member) - 1];
  if (before !== undefined) {
    const between = withoutComma(text.slice(before.valueEnd, member.start));
    const isOpen = between.includes("//") && !/^[ \t]*\r?\n/.test(tail);
    return text.slice(0, before.valueEnd) + (isOpen ? between : between.trimEnd()) + tail;
  }
  const rest = text.slice(start + 1, member.start) + text.slice(member.valueEnd, end - 1);
  return text.slice(0, start + 1) + (/\S/.test(rest) ? rest : "") + text.slice(end - 1);
}

/** Between two members: their comments without the comma. */
const withoutComma = (between: string): string =>
  between.replaceAll(
    /(\/\/[^\n]*|\/\*[^]*?\*\/)|,/g,
    (_, comment: string | undefined) => comment ?? "",
  );
