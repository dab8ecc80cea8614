import { TAG_NAME } from "./key.ts";

/** An element in a block, from its first tag to its last. */
export type Child = {
  readonly tag: string;
  readonly from: number;
  readonly to: number;
  readonly content: string;
  /** Whether its closing tag is there, and no other's. */
  readonly closed: boolean;
};

type Tag = {
  readonly name: string;
  readonly type: "open" | "close" | "empty";
  readonly from: number;
  readonly to: number;
  /** The tag that closes it. */
  close?: Tag;
  /** It has none of its own, and the next is taken for it. */
  lent?: boolean;
};

const TAG = new RegExp(`<(/?)(${TAG_NAME})(?:[ \\t\\r\\n][^<>]*?)?(/?)>`, "uy");

/**
 * The elements of a text, one behind the other; words between them count for
 * nothing. An element ends at its own closing tag, whatever stands in it. One
 * that has none ends where the next begins: at a tag that `isChild` knows, or
 * at any that is closed.
 */
export function childrenOf(text: string, isChild?: (tag: string) => boolean): readonly Child[] {
  const tags = paired(tagsOf(text));
  const children: Child[] = [];
  const isNext = ({ name, type, close }: Tag): boolean =>
    type !== "close" && (isChild?.(name) ?? (type === "empty" || close !== undefined));
  for (let at = 0; at < tags.length;) {
    const tag = tags[at++];
    if (tag === undefined || tag.type === "close") continue;
    const { name, from, to, close } = tag;
    let end = to;
    if (tag.type === "open" && close !== undefined) {
      end = close.from;
      while (at < tags.length && (tags[at]?.from ?? 0) <= close.from) at++;
    } else if (tag.type === "open") {
      for (let next = tags[at]; next !== undefined && !isNext(next); next = tags[at]) at++;
      end = tags[at]?.from ?? text.length;
    }
    const closed = tag.type === "empty" || (close !== undefined && tag.lent !== true);
    children.push({ tag: name, from, to: close?.to ?? end, content: text.slice(to, end), closed });
  }
  return children;
}

function tagsOf(text: string): Tag[] {
  const tags: Tag[] = [];
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at)) {
    if (text.startsWith("<![CDATA[", at)) {
      const end = text.indexOf("]]>", at);
      if (end === -1) return tags;
      at = end;
      continue;
    }
    TAG.lastIndex = at;
    const found = TAG.exec(text);
    if (found === null) {
      at++;
      continue;
    }
    const [whole, isClose, name = "", isEmpty] = found;
    const type = isClose === "/" ? "close" : isEmpty === "/" ? "empty" : "open";
    tags.push({ name, type, from: at, to: at + whole.length });
    at += whole.length;
  }
  return tags;
}

/** Tags of one name close each other from the inside out; what is left over, at the next that closes. */
function paired(tags: Tag[]): readonly Tag[] {
  const opened = new Map<string, Tag[]>();
  for (const tag of tags) {
    const open = opened.get(tag.name);
    if (tag.type === "close") {
      const last = open?.pop();
      if (last !== undefined) last.close = tag;
    } else if (tag.type === "open") {
      if (open === undefined) opened.set(tag.name, [tag]);
      else open.push(tag);
    }
  }
  const closing = new Map<string, Tag>();
  for (const tag of tags.toReversed()) {
    if (tag.type === "close") closing.set(tag.name, tag);
    const next = closing.get(tag.name);
    if (tag.type !== "open" || tag.close !== undefined || next === undefined) continue;
    tag.close = next;
    tag.lent = true;
  }
  return tags;
}
