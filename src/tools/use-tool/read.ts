import { isFields, jsonOf } from "../../turn/json.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import { argumentsOf, readValue, type Arguments } from "./arguments.ts";
import { childrenOf, type Child } from "./children.ts";
import { membersOf, type Member } from "./json-text.ts";
import { BLOCK, decodeKey } from "./key.ts";
import { readText, trimmed } from "./text.ts";

/** What a tool takes: arguments under a schema, or any text. */
export type Takes = {
  readonly schema?: JsonSchema | undefined;
  readonly free?: boolean | undefined;
};

export type WrittenCall = { readonly name: string; readonly input: string };

/**
 * Reads a call that stands in text, as `writeUseTool` writes it or as models
 * do, who forget to escape, to close and to wrap. Nothing if no call of a
 * declared tool can be made of it.
 */
export function readUseTool(
  block: string,
  declared: (name: string) => Takes | undefined,
): WrittenCall | undefined {
  const parts = partsOf(block);
  if (parts === undefined) return undefined;
  const { body, named } = parts;
  const members = named === undefined ? objectIn(body) : undefined;
  if (members !== undefined) return readJson(members, declared);
  const first = childrenOf(body).find(({ tag }) => tag === "name");
  const name = named ?? (first === undefined ? "" : readText(first.content));
  const takes = name === "" ? undefined : declared(name);
  if (takes === undefined) return undefined;
  const known = argumentsOf(takes.schema);
  // Some say the name twice.
  const isAgain = (child: Child): boolean =>
    !known.declares("name") && readText(child.content) === name;
  const head = first !== undefined && (named === undefined || isAgain(first)) ? first : undefined;
  const rest = head === undefined ? body : body.slice(0, head.from) + body.slice(head.to);
  const input = takes.free === true ? readFree(rest) : readArguments(rest, known);
  return input === undefined ? undefined : { name, input };
}

const OPEN = new RegExp(`[ \\t\\r\\n]*<${BLOCK}(?![^ \\t\\r\\n/>])`, "y");
const ATTRIBUTE = /[ \t\r\n]+([\w:.-]+)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y;
const OPENED = /[ \t\r\n]*(\/?)>/y;

/** What stands between the tags, and the name in the first of them. */
function partsOf(block: string): { body: string; named: string | undefined } | undefined {
  OPEN.lastIndex = 0;
  if (!OPEN.test(block)) return undefined;
  let at = OPEN.lastIndex;
  let named: string | undefined;
  for (;;) {
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(block);
    if (found === null) break;
    at = ATTRIBUTE.lastIndex;
    if (found[1] === "name") named ??= readText(found[2] ?? found[3] ?? "");
  }
  OPENED.lastIndex = at;
  const opened = OPENED.exec(block);
  if (opened === null) return undefined;
  at = OPENED.lastIndex;
  if (opened[1] === "/") return trimmed(block.slice(at)) === "" ? { body: "", named } : undefined;
  const close = block.lastIndexOf(`</${BLOCK}`);
  const isClosed = close >= at && trimmed(block.slice(close + BLOCK.length + 2)) === ">";
  return isClosed ? { body: block.slice(at, close), named } : undefined;
}

/** A call all in JSON, its arguments beside the name or in a member of their own. */
function readJson(
  members: readonly Member[],
  declared: (name: string) => Takes | undefined,
): WrittenCall | undefined {
  const name = jsonOf(members.find(([key]) => key === "name")?.[1] ?? "");
  const takes = typeof name === "string" ? declared(name) : undefined;
  if (takes === undefined || typeof name !== "string" || name === "") return undefined;
  const rest = members.filter(([key]) => key !== "name");
  const wrapped = rest.find(([key]) => wrappers.has(key))?.[1];
  const inner = wrapped === undefined ? undefined : jsonOf(wrapped);
  if (takes.free === true) {
    if (typeof inner === "string") return { name, input: inner };
    const [only, ...others] = isFields(inner) ? Object.values(inner) : [];
    if (typeof only === "string" && others.length === 0) return { name, input: only };
  }
  if (wrapped !== undefined && isFields(inner)) return { name, input: wrapped };
  // Some write the arguments as text, as the API has them.
  if (typeof inner === "string" && isFields(jsonOf(inner))) return { name, input: inner };
  return { name, input: inner === null && rest.length === 1 ? "{}" : objectOf(rest) };
}

const wrappers = new Set(["arguments", "parameters", "input", "args"]);

function objectIn(body: string): readonly Member[] | undefined {
  const text = trimmed(body);
  if (text.startsWith("{")) return membersOf(text) ?? membersOf(readText(text));
  return text.startsWith("<![CDATA[") ? membersOf(readText(text)) : undefined;
}

const objectOf = (members: readonly Member[]): string =>
  `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;

/** The text of a tool that takes any: within one element or without. */
function readFree(body: string): string {
  const inner = trimmed(body);
  const [, tag = ""] = /^<(\w+)>/.exec(inner) ?? [];
  const isWrapped = wrappers.has(tag) && inner.endsWith(`</${tag}>`);
  return readText(isWrapped ? inner.slice(tag.length + 2, -(tag.length + 3)) : body);
}

function readArguments(rest: string, known: Arguments): string | undefined {
  const members = objectIn(rest);
  if (members !== undefined) return objectOf(members);
  const isChild = (tag: string): boolean => known.declares(decodeKey(tag));
  const children = childrenOf(rest, known.some ? isChild : undefined);
  const [only] = children;
  if (only === undefined) return trimmed(rest) === "" ? "{}" : undefined;
  if (children.some(isAnother)) return undefined;
  if (children.length > 1 || only.tag !== known.whole) return readChildren(children, known);
  const inner = only.content.includes("<") ? childrenOf(only.content) : [];
  const text = readText(only.content);
  const isMarkup = inner.length > 0 && !isFields(jsonOf(text)) && isFirst(only.content);
  return isMarkup ? readChildren(inner, known) : text;
}

/** Whether content begins with an element, and not with text or with what is to be taken as text. */
const isFirst = (content: string): boolean => /^<[^!]/.test(trimmed(content));

/** Whether a block was never closed and the next one stands in it. */
const isAnother = ({ tag, closed, content }: Child): boolean =>
  tag === BLOCK || (!closed && content.includes(`<${BLOCK}`));

/** Elements as arguments; several of one key are a list. */
function readChildren(children: readonly Child[], known: Arguments): string {
  const texts = new Map<string, string[]>();
  for (const { tag, content } of children) {
    const key = decodeKey(tag);
    const text = readText(content);
    const others = texts.get(key);
    if (others === undefined) texts.set(key, [text]);
    else others.push(text);
  }
  const members = [...texts].map(([key, values]): Member => {
    const shape = values.length === 1 ? known.shape(key) : known.element(key);
    const read = values.map((text) => readValue(text, shape));
    return [key, read.length === 1 ? (read[0] ?? "") : `[${read.join(",")}]`];
  });
  return objectOf(members);
}
