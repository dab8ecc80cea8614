import { isFields, jsonOf } from "../../../turn/json.ts";
import type { JsonSchema } from "../../../turn/turn.ts";
import { readValue, shapeOf, wrappers, type Shape } from "./arguments.ts";
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

type Declared = (name: string) => Takes | undefined;

const HEAD = new RegExp(
  `^[ \\t\\r\\n]*<${BLOCK}(?:[ \\t\\r\\n]+name=(?:"([^"<>]*)"|'([^'<>]*)'))?[ \\t\\r\\n]*>`,
);
const TAIL = new RegExp(`^</${BLOCK}[ \\t\\r\\n]*>[ \\t\\r\\n]*$`);

/**
 * Reads a call that stands in text, as `writeUseTool` writes it or as models
 * do: its name in an element or in the tag, its arguments as elements, as JSON,
 * or in one element for all of them; or all of it as JSON. Nothing if no call of
 * a declared tool can be made of it.
 */
export function readUseTool(block: string, declared: Declared): WrittenCall | undefined {
  const [head, double, single] = HEAD.exec(block) ?? [];
  const close = block.lastIndexOf(`</${BLOCK}`);
  if (head === undefined || !TAIL.test(block.slice(close))) return undefined;
  const body = block.slice(head.length, close);
  const quoted = double ?? single;
  const members = quoted === undefined ? objectIn(body) : undefined;
  if (members !== undefined) return readJson(members, declared);
  const named =
    quoted === undefined ? childrenOf(body)?.find(({ tag }) => tag === "name") : undefined;
  const name = readText(quoted ?? named?.content ?? "");
  const takes = name === "" ? undefined : declared(name);
  if (takes === undefined) return undefined;
  const rest = named === undefined ? body : body.slice(0, named.from) + body.slice(named.to);
  const input = takes.free === true ? readFree(rest) : readArguments(rest, shapeOf(takes.schema));
  return input === undefined ? undefined : { name, input };
}

/** A call all in JSON, its arguments beside the name or in a member of their own. */
function readJson(members: readonly Member[], declared: Declared): WrittenCall | undefined {
  const name = jsonOf(members.find(([key]) => key === "name")?.[1] ?? "");
  const takes = typeof name === "string" ? declared(name) : undefined;
  if (takes === undefined || typeof name !== "string" || name === "") return undefined;
  const rest = members.filter(([key]) => key !== "name");
  const text = rest.find(([key]) => wrappers.has(key))?.[1];
  if (text === undefined) return { name, input: objectOf(rest) };
  const value = jsonOf(text);
  const [only, ...others] = isFields(value) ? Object.values(value) : [value];
  if (takes.free === true && others.length === 0 && typeof only === "string")
    return { name, input: only };
  if (value === null) return { name, input: "{}" };
  // Some write the arguments as text, as the API has them.
  const isText = typeof value === "string" && isFields(jsonOf(value));
  if (isFields(value) || isText) return { name, input: isText ? value : text };
  return { name, input: objectOf(rest) };
}

function objectIn(body: string): readonly Member[] | undefined {
  const text = trimmed(body);
  return text.startsWith("{") ? membersOf(text) : undefined;
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

function readArguments(rest: string, known: Shape): string | undefined {
  const members = objectIn(rest);
  if (members !== undefined) return objectOf(members);
  const children = childrenOf(rest);
  const [only, ...others] = children ?? [];
  if (children === undefined || only === undefined) return trimmed(rest) === "" ? "{}" : undefined;
  if (others.length > 0 || !known.wraps(only.tag)) return readChildren(children, known);
  const text = readText(only.content);
  if (isFields(jsonOf(text))) return text;
  const inner = elementsIn(only.content);
  if (inner.length > 0) return readChildren(inner, known);
  return only.tag === known.whole ? text : readChildren(children, known);
}

/** The elements that content is made of; none where it is text, escaped markup or character data. */
const elementsIn = (content: string): readonly Child[] =>
  /^<[^!]/.test(trimmed(content)) ? (childrenOf(content) ?? []) : [];

/** So deep are elements looked for in each other: every level is read again for the next. */
const MAX_DEPTH = 16;

/** Elements as properties; several of one key are a list. */
function readChildren(children: readonly Child[], known: Shape, depth = 0): string {
  const byKey = Map.groupBy(children, ({ tag }) => decodeKey(tag));
  return objectOf(
    Array.from(byKey, ([key, same]): Member => {
      const shape = known.property(key);
      const [only] = same;
      const isOne = same.length === 1 && only !== undefined;
      return [key, isOne ? readContent(only, shape, depth) : readList(same, shape, depth)];
    }),
  );
}

function readList(children: readonly Child[], shape: Shape, depth: number): string {
  const item = shape.types?.has("array") === true ? shape.items() : shape;
  return `[${children.map((child) => readContent(child, item, depth)).join(",")}]`;
}

/** The value of an element: where it can be no text, elements within it are its properties or items. */
function readContent({ content }: Child, shape: Shape, depth: number): string {
  const text = readText(content);
  const { types } = shape;
  const isText = types === undefined || types.has("string") || jsonOf(text) !== undefined;
  const inner = isText || depth === MAX_DEPTH ? [] : elementsIn(content);
  if (inner.length > 0 && types?.has("object") === true)
    return readChildren(inner, shape, depth + 1);
  if (inner.length > 0 && types?.has("array") === true) return readList(inner, shape, depth + 1);
  return readValue(text, types);
}
