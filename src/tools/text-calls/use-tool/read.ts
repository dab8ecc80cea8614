import { isFields, jsonOf } from "../../../turn/json.ts";
import type { JsonSchema } from "../../../turn/turn.ts";
import { argumentsOf, readValue, wrappers, type Arguments, type Value } from "./arguments.ts";
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
  const { body, attributes } = parts;
  const named = attributes.get("name");
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
  if (takes.free === true) return { name, input: readFree(rest) };
  const input = readArguments(rest, known);
  return input === undefined
    ? undefined
    : { name, input: withAttributes(input, attributes, known) };
}

const OPEN = new RegExp(`[ \\t\\r\\n]*<${BLOCK}(?![^ \\t\\r\\n/>])`, "y");
const ATTRIBUTE = /[ \t\r\n]+([\w:.-]+)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y;
const OPENED = /[ \t\r\n]*(\/?)>/y;

type Parts = { readonly body: string; readonly attributes: ReadonlyMap<string, string> };

/** What stands between the tags, and what the first of them says. */
function partsOf(block: string): Parts | undefined {
  OPEN.lastIndex = 0;
  if (!OPEN.test(block)) return undefined;
  let at = OPEN.lastIndex;
  const attributes = new Map<string, string>();
  for (;;) {
    ATTRIBUTE.lastIndex = at;
    const found = ATTRIBUTE.exec(block);
    if (found === null) break;
    at = ATTRIBUTE.lastIndex;
    const [, key = "", quoted, single = ""] = found;
    if (!attributes.has(key)) attributes.set(key, readText(quoted ?? single));
  }
  OPENED.lastIndex = at;
  const opened = OPENED.exec(block);
  if (opened === null) return undefined;
  at = OPENED.lastIndex;
  if (opened[1] === "/")
    return trimmed(block.slice(at)) === "" ? { body: "", attributes } : undefined;
  const close = block.lastIndexOf(`</${BLOCK}`);
  const isClosed = close >= at && trimmed(block.slice(close + BLOCK.length + 2)) === ">";
  return isClosed ? { body: block.slice(at, close), attributes } : undefined;
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
  if (children.length > 1 || !known.wraps(only.tag)) return readChildren(children, known);
  const text = readText(only.content);
  if (isFields(jsonOf(text))) return text;
  const inner = elementsIn(only.content);
  if (inner.length > 0) return readChildren(inner, known);
  return only.tag === known.whole ? text : readChildren(children, known);
}

/** The elements that content is made of; none where it is text. */
const elementsIn = (content: string): readonly Child[] =>
  isFirst(content) ? childrenOf(content) : [];

/** Arguments that stand in the first tag of a block, and nowhere else. */
function withAttributes(
  input: string,
  attributes: ReadonlyMap<string, string>,
  known: Arguments,
): string {
  const said = [...attributes].filter(([key]) => key !== "name" && known.declares(key));
  const members = said.length === 0 ? undefined : membersOf(input);
  if (members === undefined) return input;
  const others = said.filter(([key]) => members.every(([one]) => one !== key));
  const more = others.map(([key, text]): Member => [key, readValue(text, known.value(key).shape)]);
  return objectOf([...more, ...members]);
}

/** Whether content begins with an element, and not with text or with what is to be taken as text. */
const isFirst = (content: string): boolean => /^<[^!]/.test(trimmed(content));

/** Whether a block was never closed and the next one stands in it. */
const isAnother = ({ tag, closed, content }: Child): boolean =>
  tag === BLOCK || (!closed && content.includes(`<${BLOCK}`));

/** So deep are elements looked for in each other: every level is read again for the next. */
const DEEPEST = 16;

/** Elements as arguments; several of one key are a list. */
function readChildren(children: readonly Child[], known: Arguments, depth = 0): string {
  const contents = Map.groupBy(children, ({ tag }) => decodeKey(tag));
  const members = Array.from(contents, ([key, same]): Member => {
    const value = known.value(key);
    const [only] = same;
    const isOne = same.length === 1 && only !== undefined;
    return [key, isOne ? readContent(only, value, depth) : readList(same, value, depth)];
  });
  return objectOf(members);
}

const readList = (children: readonly Child[], value: Value, depth: number): string =>
  `[${children.map((child) => readContent(child, value.element(), depth)).join(",")}]`;

/** The value of an element: where it can be no text, elements within it are its fields or its members. */
function readContent({ content }: Child, value: Value, depth: number): string {
  const text = readText(content);
  const { types } = value.shape;
  const isText = types === undefined || types.has("string") || jsonOf(text) !== undefined;
  const inner = isText || depth === DEEPEST ? [] : elementsIn(content);
  if (inner.length > 0 && types?.has("object") === true)
    return readChildren(inner, value.fields(), depth + 1);
  if (inner.length > 0 && types?.has("array") === true) return readList(inner, value, depth + 1);
  return readValue(text, value.shape);
}
