import { resolve, schemasIn } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { mergeAll, narrowed } from "./merge.ts";
import { unionCodec } from "./union.ts";
import {
  asText,
  limit,
  takes,
  type RewrittenSchema,
  type Within,
  type Rewrite,
} from "./rewrite.ts";

/** Schemas that must all hold: kept if the upstream takes that, else made one. */
export function writeAll(schema: Fields, writing: Rewrite, within: Within): RewrittenSchema {
  const { allOf, ...own } = schema as Record<string, unknown>;
  const branches = schemasIn(allOf);
  if (takes(writing, "allOf") && !reshapesObjects(writing)) {
    const nodes = branches.map((branch) => writing.write(branch, within));
    if (nodes.every(({ codec }) => codec === undefined))
      return {
        schema: { ...limit(own, writing), allOf: nodes.map((node) => node.schema) },
        codec: undefined,
      };
  }
  const through = new Set(within);
  const all: (JsonSchema | undefined)[] = [
    own,
    ...branches.map((branch) => follow(branch, writing.root, through)),
  ];
  const whole = all.every((one) => one !== undefined) ? mergeAll(all) : undefined;
  if (whole === undefined) return asText(schema, writing, "schemas that must all hold");
  writing.changed = true;
  return writing.write(whole, through);
}

/** What a schema refers to; nothing if that leads back to where it came from. */
function follow(
  schema: JsonSchema,
  root: JsonSchema,
  through: Set<string>,
): JsonSchema | undefined {
  let target: JsonSchema | undefined = schema;
  while (isFields(target) && typeof target.$ref === "string") {
    if (through.has(target.$ref)) return undefined;
    through.add(target.$ref);
    target = resolve(root, target.$ref);
  }
  return target;
}

/** Whether an object of the client's may look different to the upstream. */
const reshapesObjects = ({ rule }: Rewrite): boolean =>
  rule.maps === false || rule.optional === false || rule.keys !== undefined;

const remarks = new Set(
  "description title default examples $comment deprecated $defs definitions".split(" "),
);

/** Alternatives. Keywords next to them hold for each of them. */
export function writeUnion(
  schema: Fields,
  word: "anyOf" | "oneOf",
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const { [word]: alternatives, ...own } = schema as Record<string, unknown>;
  const { rule } = writing;
  const bare = Object.keys(own).every((key) => remarks.has(key));
  const apart = bare || (rule.untyped !== false && !reshapesObjects(writing));
  const branches = schemasIn(alternatives).map((branch) =>
    apart ? { schema: branch, within } : mergedInto(own, branch, writing, within),
  );
  if (!branches.every((branch) => branch !== undefined))
    return asText(schema, writing, "alternatives");
  if (!apart) writing.changed = true;

  const keyword = takes(writing, word) ? word : "anyOf";
  if (!takes(writing, keyword)) return writeWithout(schema, branches, writing);
  if (keyword !== word) writing.changed = true;
  const nodes = branches.map((branch) => writing.write(branch.schema, branch.within));
  const outer = limit(apart ? own : only(own, remarks), writing);
  const written = { ...outer, [keyword]: nodes.map((node) => node.schema) };
  if (nodes.every(({ codec }) => codec === undefined)) return { schema: written, codec: undefined };
  const codec = unionCodec(
    nodes.map((node, at) => ({
      client: follow(branches[at]?.schema ?? true, writing.root, new Set()) ?? true,
      upstream: followWritten(node.schema, writing),
      codec: node.codec,
    })),
  );
  if (codec === undefined) return asText(schema, writing, "alternatives that look alike");
  return { schema: written, codec };
}

/** What a written schema refers to, if that is written yet. */
function followWritten(schema: JsonSchema, { definitions }: Rewrite): JsonSchema {
  if (!isFields(schema) || typeof schema.$ref !== "string") return schema;
  return definitions.byName.get(schema.$ref.slice("#/$defs/".length))?.node?.schema ?? true;
}

/** An alternative of a union, and the references it was reached through. */
type Alternative = { readonly schema: JsonSchema; readonly within: Within };

/** An alternative with what holds for all of them; nothing if that leads back to where it came from. */
function mergedInto(
  own: Fields,
  branch: JsonSchema,
  { root }: Rewrite,
  within: Within,
): Alternative | undefined {
  const common = Object.fromEntries(Object.entries(own).filter(([key]) => !remarks.has(key)));
  const through = new Set(within);
  const target = follow(branch, root, through);
  const schema = target === undefined ? undefined : mergeAll([target, common]);
  return schema === undefined ? undefined : { schema, within: through };
}

const only = (schema: Fields, words: ReadonlySet<string>): Fields =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => words.has(key)));

/** Alternatives for an upstream that takes none. */
function writeWithout(
  schema: Fields,
  branches: readonly Alternative[],
  writing: Rewrite,
): RewrittenSchema {
  const some = branches.filter((branch) => !isNull(branch.schema));
  const [first] = some;
  if (some.length !== 1 || !isFields(first?.schema)) return asText(schema, writing, "alternatives");
  writing.changed = true;
  const outer = only(schema, remarks);
  const node = writing.write({ ...first.schema, ...outer }, first.within);
  return nullable(node, branches.length > 1, writing);
}

const isNull = (schema: JsonSchema): boolean =>
  isFields(schema) && (schema.type === "null" || schema.const === null);

/** A schema that may be null, as far as the upstream has a form for that. */
function nullable(node: RewrittenSchema, may: boolean, writing: Rewrite): RewrittenSchema {
  if (!may || !isFields(node.schema)) return node;
  if (writing.rule.keywords?.includes("nullable") === true)
    return { schema: { ...node.schema, nullable: true }, codec: node.codec };
  writing.describedOnly.add("null");
  return node;
}

/** Several types at once: alternatives of one type each, where a list of types is not taken. */
export function writeTypes(
  schema: Fields,
  types: readonly string[],
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const nested = types.some((type) => type === "object" || type === "array");
  if (writing.rule.typeLists !== false && !nested)
    return { schema: limit(schema, writing), codec: undefined };
  if (writing.rule.typeLists !== false && !reshapesObjects(writing) && writing.rule.refs !== false)
    return { schema: limit(schema, writing), codec: undefined };
  writing.changed = true;
  const outer = only(schema, remarks);
  const inner = Object.fromEntries(Object.entries(schema).filter(([key]) => !remarks.has(key)));
  return writing.write({ ...outer, anyOf: types.map((type) => narrowed(inner, type)) }, within);
}
