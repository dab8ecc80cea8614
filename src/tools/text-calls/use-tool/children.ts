import { BLOCK, TAG_NAME } from "./key.ts";

/** An element in a block, from its first tag to its last. */
export type Child = {
  readonly tag: string;
  readonly from: number;
  readonly to: number;
  readonly content: string;
};

type Tag = {
  readonly name: string;
  readonly isClose: boolean;
  readonly from: number;
  readonly to: number;
  /** The tag that closes it; itself, if it is empty. */
  close?: Tag | undefined;
  /** It has none of its own, and the next is taken for it. */
  isLent?: boolean;
};

const TAG = new RegExp(`<(/?)(${TAG_NAME})(?:[ \\t\\r\\n][^<>]*?)?(/?)>`, "uy");

/**
 * The elements of a text, one behind the other; words between them count for
 * nothing. An element ends at its own closing tag, whatever stands in it.
 * Undefined where one is never closed: what belongs to it cannot be known.
 */
export function childrenOf(text: string): readonly Child[] | undefined {
  const children: Child[] = [];
  let end = 0;
  for (const { name, isClose, from, to, close, isLent } of paired(tagsOf(text))) {
    if (isClose || from < end) continue;
    if (close === undefined) return undefined;
    end = close.to;
    const content = text.slice(to, Math.max(to, close.from));
    // Not a word about the tag, but a block that follows one which was broken off.
    if (isLent === true && content.includes(`<${BLOCK}`)) return undefined;
    children.push({ tag: name, from, to: close.to, content });
  }
  return children;
}

function tagsOf(text: string): readonly Tag[] {
  const tags: Tag[] = [];
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at)) {
    if (text.startsWith("<![CDATA[", at)) {
      const end = text.indexOf("]]>", at);
      if (end === -1) return tags;
      at = end;
      continue;
    }
    TAG.lastIndex = at;
    const [whole = "<", slash, name, isEmpty] = TAG.exec(text) ?? [];
    if (name !== undefined) {
      const tag: Tag = { name, isClose: slash === "/", from: at, to: at + whole.length };
      if (isEmpty === "/") tag.close = tag;
      tags.push(tag);
    }
    at += whole.length;
  }
  return tags;
}

/** Tags of one name close each other from the inside out; what is left over, at the next that closes. */
function paired(tags: readonly Tag[]): readonly Tag[] {
  const opened = new Map<string, Tag[]>();
  for (const tag of tags) {
    const open = opened.get(tag.name) ?? [];
    opened.set(tag.name, open);
    const last = tag.isClose ? open.pop() : undefined;
    if (last !== undefined) last.close = tag;
    if (!tag.isClose && tag.close === undefined) open.push(tag);
  }
  const closing = new Map<string, Tag>();
  for (const tag of tags.toReversed()) {
    if (tag.isClose) closing.set(tag.name, tag);
    else if (tag.close === undefined) {
      tag.close = closing.get(tag.name);
      tag.isLent = true;
    }
  }
  return tags;
}
