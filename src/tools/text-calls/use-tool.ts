import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { combined, isOfType, isSchema, TypeFinder, type Types } from "../../schema/keywords.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { membersOf as spansOf, valueEnd } from "../../json/scan.ts";
import {
  BLOCK,
  type Child,
  childrenOf,
  decodeKey,
  encodeKey,
  escapeText,
  isSpace,
  unescapeXml,
  trimmed,
} from "./xml.ts";

const QUOTE = 0x22;

/** A key of an object and the JSON text of its value. */
type Member = readonly [key: string, value: string];

/**
 * The members of an object in JSON text, in their order and with repeated keys. Values are JSON
 * text, so that a number keeps all its digits. Undefined if the text is no object.
 */
function membersOf(text: string): readonly Member[] | undefined {
  if (!isFields(jsonOf(text))) return undefined;
  return [...spansOf(text)].map(({ key, from, end }) => [key, compact(text.slice(from, end))]);
}

/** JSON text in the form of `JSON.stringify`, with the original spelling of numbers. */
function compact(text: string): string {
  let out = "";
  let from = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code !== QUOTE && !isSpace(code)) {
      at++;
      continue;
    }
    out += text.slice(from, at);
    from = code === QUOTE ? valueEnd(text, at) : at + 1;
    if (code === QUOTE) out += JSON.stringify(jsonOf(text.slice(at, from)));
    at = from;
  }
  return out + text.slice(from);
}

/** The parts of a schema that tell text from JSON, and elements from text. */
type Shape = {
  readonly types: Types;
  /** The tag that holds all properties at once. */
  readonly whole: string;
  /** True for a tag around all properties: the one that `writeUseTool` writes, or one that models write and no property has. */
  wraps(tag: string): boolean;
  property(key: string): Shape;
  items(): Shape;
};

/** Tags that models write around all arguments of a call. */
const wrappers: ReadonlySet<string> = new Set(["arguments", "parameters", "input", "args"]);

const shapeOf = (schema: JsonSchema | undefined): Shape =>
  isFields(schema) ? shapeOfRoot(schema) : unknown;

/** Reads a text by the types alone. The writer uses this reader, so that both agree. */
function readValue(text: string, types: Types): string {
  const plain = JSON.stringify(text);
  if (types?.size === 1 && types.has("string")) return plain;
  const value = jsonOf(text);
  if (value === undefined) return pythonWord(text, types) ?? plain;
  if (types?.has("string") !== true) return compact(text);
  // If other types are allowed, a string has quotes only if it would be read as one of them.
  const isJson =
    typeof value === "string"
      ? readValue(value, types) !== JSON.stringify(value)
      : [...types].some((type) => isOfType(value, type));
  return isJson ? compact(text) : plain;
}

/** The JSON for `True`, `False` and `None`, if the value cannot be text. */
function pythonWord(text: string, types: Types): string | undefined {
  if (types === undefined || types.has("string")) return undefined;
  const word = text.toLowerCase().replace("none", "null");
  return isOfType(jsonOf(word), types.has("boolean") ? "boolean" : "null") ? word : undefined;
}

const WHOLE = "args";

const unknown: Shape = {
  types: undefined,
  whole: WHOLE,
  wraps: (tag) => tag === WHOLE,
  property: () => unknown,
  items: () => unknown,
};

const shapeOfRoot = memoizeByIdentity((root: Fields): Shape =>
  shapeIn([root], root, new TypeFinder(root, true)),
);

function shapeIn(schemas: readonly JsonSchema[], root: Fields, finder: TypeFinder): Shape {
  const parts = new Set<Fields>();
  for (const schema of schemas) addParts(schema, root, parts);
  const members = [...parts].flatMap(({ properties }) =>
    isFields(properties) ? Object.entries(properties) : [],
  );
  const properties = Map.groupBy(members, ([key]) => key);
  const items = [...parts].map((part) => part.items).filter(isSchema);
  const whole = wholeTag(properties);
  const known = new Map<string, Shape>();
  return {
    types: finder.typesOfAny(schemas),
    whole,
    wraps: (tag) =>
      tag === whole || (properties.size > 0 && wrappers.has(tag) && !properties.has(tag)),
    property(key) {
      const declared = properties
        .get(key)
        ?.map(([, schema]) => schema)
        .filter(isSchema);
      if (declared === undefined) return unknown;
      const shape = known.get(key) ?? shapeIn(declared, root, finder);
      known.set(key, shape);
      return shape;
    },
    items: () => (items.length === 0 ? unknown : shapeIn(items, root, finder)),
  };
}

function wholeTag(properties: ReadonlyMap<string, unknown>): string {
  if (!properties.has(WHOLE)) return WHOLE;
  let tag = "arguments";
  for (let marks = "_"; properties.has(tag); marks += "_") tag = marks + WHOLE;
  return tag;
}

/** Adds a schema and all that it combines. */
function addParts(schema: JsonSchema, root: Fields, parts: Set<Fields>): void {
  if (typeof schema === "boolean" || parts.has(schema)) return;
  parts.add(schema);
  for (const one of combined(schema, root)) addParts(one, root, parts);
}

/**
 * Writes a call as text, with one element for each argument, so that the tool's schema reads it
 * back. If that is impossible, one element holds all arguments unchanged.
 */
export function writeUseTool(
  name: string,
  input: string,
  declared: JsonSchema | undefined,
  kind = "function",
): string {
  const isFree = kind === "custom";
  const known = shapeOf(isFree ? undefined : declared);
  const isNothing = kind === "function" && input.trim() === "";
  const members = isFree || isNothing ? undefined : membersOf(input);
  const whole = isNothing || members?.length === 0 ? "{}" : input;
  const children = (members && writeMembers(members, known)) ?? [
    element(known.whole, escapeText(whole)),
  ];
  return [`<${BLOCK}>`, element("name", escapeText(name)), ...children, `</${BLOCK}>`].join("\n");
}

/** The arguments as elements; undefined if one of them would not be read back, or there are none. */
function writeMembers(members: readonly Member[], known: Shape): string[] | undefined {
  const lines = new Map<string, string>();
  for (const [key, value] of members) {
    const text = writeValue(key, value, known);
    if (text === undefined || lines.has(key)) return undefined;
    lines.set(
      key,
      element(
        encodeKey(key, (one) => known.wraps(one)),
        escapeText(text),
      ),
    );
  }
  return lines.size === 0 ? undefined : [...lines.values()];
}

/** The text that is read back as a value: the bare string, or the value's JSON. */
function writeValue(key: string, value: string, known: Shape): string | undefined {
  const { types } = known.property(key);
  const bare = value.startsWith('"') ? (jsonOf(value) as string) : value;
  return [bare, value].find((text) => readValue(text, types) === value);
}

const element = (tag: string, content: string): string => `  <${tag}>${content}</${tag}>`;

/** The input of a tool: arguments under a schema, or free text. */
export type Takes = {
  readonly schema?: JsonSchema | undefined;
  readonly free?: boolean | undefined;
};

type WrittenCall = { readonly name: string; readonly input: string };

type Declared = (name: string) => Takes | undefined;

const HEAD = new RegExp(
  `^[ \\t\\r\\n]*<${BLOCK}(?:[ \\t\\r\\n]+name=(?:"([^"<>]*)"|'([^'<>]*)'))?[ \\t\\r\\n]*>`,
);
const TAIL = new RegExp(`^</${BLOCK}[ \\t\\r\\n]*>[ \\t\\r\\n]*$`);

/**
 * Reads a call from a block, as `writeUseTool` or a model writes it: the name in an element or in
 * the tag; the arguments as elements, as JSON, or in one element for all of them; or the whole call
 * as JSON. Undefined if it is no call of a declared tool.
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
  const name = unescapeXml(quoted ?? named?.content ?? "");
  const takes = name === "" ? undefined : declared(name);
  if (takes === undefined) return undefined;
  const rest = named === undefined ? body : body.slice(0, named.from) + body.slice(named.to);
  const input = takes.free === true ? readFree(rest) : readArguments(rest, shapeOf(takes.schema));
  return input === undefined ? undefined : { name, input };
}

/** Reads a call in JSON, with its arguments beside the name or in a separate member. */
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
  // Some models write the arguments as a JSON string, as the API does.
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

/** The input of a tool that takes free text, with or without an element around it. */
function readFree(body: string): string {
  const inner = trimmed(body);
  const [, tag = ""] = /^<(\w+)>/.exec(inner) ?? [];
  const isWrapped = wrappers.has(tag) && inner.endsWith(`</${tag}>`);
  return unescapeXml(isWrapped ? inner.slice(tag.length + 2, -(tag.length + 3)) : body);
}

function readArguments(rest: string, known: Shape): string | undefined {
  const members = objectIn(rest);
  if (members !== undefined) return objectOf(members);
  const children = childrenOf(rest);
  const [only, ...others] = children ?? [];
  if (children === undefined || only === undefined) return trimmed(rest) === "" ? "{}" : undefined;
  if (others.length > 0 || !known.wraps(only.tag)) return readChildren(children, known);
  const text = unescapeXml(only.content);
  if (isFields(jsonOf(text))) return text;
  const inner = elementsIn(only.content);
  if (inner.length > 0) return readChildren(inner, known);
  return only.tag === known.whole ? text : readChildren(children, known);
}

/** The elements of content; empty if it is text, escaped markup or character data. */
const elementsIn = (content: string): readonly Child[] =>
  /^<[^!]/.test(trimmed(content)) ? (childrenOf(content) ?? []) : [];

/** The most levels of nested elements: every level is read again for the next. */
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

/** The value of an element. If it cannot be text, inner elements are its properties or items. */
function readContent({ content }: Child, shape: Shape, depth: number): string {
  const text = unescapeXml(content);
  const { types } = shape;
  const isText = types === undefined || types.has("string") || jsonOf(text) !== undefined;
  const inner = isText || depth === MAX_DEPTH ? [] : elementsIn(content);
  if (inner.length > 0 && types?.has("object") === true)
    return readChildren(inner, shape, depth + 1);
  if (inner.length > 0 && types?.has("array") === true) return readList(inner, shape, depth + 1);
  return readValue(text, types);
}
