/** Writes tools and the choice of them. */

import { isFields } from "../../json/json.ts";
import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { SchemaRule } from "../../turn/profile.ts";
import type { Fields, FunctionTool, JsonSchema, Tool, Turn } from "../../turn/turn.ts";
import { reportForeign } from "../shared/content.ts";
import { fieldsOf, given } from "../shared/loose.ts";
import { ownGeminiExtra, schemaTypes } from "./wire.ts";

export type WrittenTools = {
  /** The list of functions and that of all tools, as JSON; undefined: there is none. */
  readonly functions: string | undefined;
  readonly all: string | undefined;
  readonly hasBuiltins: boolean;
  /** True if the arguments of a function must follow its schema. */
  readonly isStrict: boolean;
  /** The reasons why some tools have no form here. */
  readonly reasons: readonly string[];
};

const openApi = memoizeByIdentity((tools: readonly Tool<UpstreamName>[]) => write(tools, true));
const jsonSchema = memoizeByIdentity((tools: readonly Tool<UpstreamName>[]) => write(tools, false));

/** The tools as JSON text. */
export const writeTools = (
  tools: readonly Tool<UpstreamName>[],
  rule: SchemaRule | undefined,
): WrittenTools => (rule?.openApi === true ? openApi : jsonSchema)(tools);

function write(tools: readonly Tool<UpstreamName>[], isOpenApi: boolean): WrittenTools {
  const declarations: Fields[] = [];
  const others: Fields[] = [];
  const reasons: string[] = [];
  let isStrict = false;
  for (const tool of tools) {
    if (tool.type === "function") {
      isStrict ||= tool.strict === true;
      reportForeign(tool.extra, "gemini", (reason) => reasons.push(reason));
      declarations.push(declarationOf(tool, isOpenApi));
    } else if (tool.type === "builtin" && tool.dialect === "gemini") others.push(tool.raw);
    else {
      const kind = tool.type === "builtin" ? tool.kind : tool.type;
      reasons.push(`the gemini dialect has no ${kind} tools`);
    }
  }
  const listed = declarations.length === 0 ? [] : [{ functionDeclarations: declarations }];
  const textOf = (list: readonly Fields[]): string | undefined =>
    list.length === 0 ? undefined : JSON.stringify(list);
  return {
    functions: textOf(listed),
    all: textOf([...listed, ...others]),
    hasBuiltins: others.length > 0,
    isStrict,
    reasons,
  };
}

function declarationOf(
  { name, description, schema, extra }: FunctionTool<UpstreamName>,
  isOpenApi: boolean,
): Fields {
  const parameters = isFields(schema) ? schema : undefined;
  const written =
    parameters === undefined
      ? {}
      : isOpenApi
        ? given({ parameters: openApiSchema(parameters) })
        : { parametersJsonSchema: withType(parameters) };
  return { name, ...given({ description }), ...written, ...ownGeminiExtra(extra) };
}

/** The parameters of a function are an object. */
const withType = (schema: Fields): Fields =>
  schema.type === undefined ? { type: "object", ...schema } : schema;

const typeNames: ReadonlyMap<string, string> = new Map(
  Array.from(schemaTypes, ([upper, lower]) => [lower, upper]),
);

/**
 * A schema that the plan has limited to the words of OpenAPI, in the form of protobuf. An object
 * without properties is refused: undefined for the root, which takes no arguments then.
 */
function openApiSchema(schema: JsonSchema): Fields | undefined {
  const written = protoOf(schema);
  return written.type === "OBJECT" && Object.keys(fieldsOf(written.properties) ?? {}).length === 0
    ? undefined
    : written;
}

/** The formats of texts; the other formats that the plan leaves are those of numbers. */
const textFormats: ReadonlySet<unknown> = new Set(["enum", "date-time"]);

function protoOf(schema: unknown): Fields {
  const fields = fieldsOf(schema);
  if (fields === undefined) return { type: "STRING" };
  const { type, properties, items, anyOf, required, ...more } = fields;
  const { additionalProperties: _, prefixItems: __, ...rest } = more;
  const branches = Array.isArray(anyOf) ? (anyOf as readonly unknown[]) : undefined;
  const filled = branches?.filter((one) => fieldsOf(one)?.type !== "null");
  // One branch beside null is a type that may be null.
  if (branches !== undefined && filled?.length === 1 && filled.length < branches.length)
    return { ...protoOf(filled[0]), ...rest, nullable: true };
  // No other word may be beside the branches.
  if (branches !== undefined && filled !== undefined) {
    const nullable = filled.length < branches.length ? { nullable: true } : {};
    return { anyOf: filled.map((one) => Object.assign({}, rest, protoOf(one), nullable)) };
  }
  const written: Record<string, unknown> = { ...rest };
  if (typeof type === "string") written.type = typeNames.get(type.toLowerCase()) ?? type;
  // A word of another type is refused.
  if (written.type === "STRING" && !textFormats.has(written.format)) delete written.format;
  if (items !== undefined && written.type === "ARRAY") written.items = protoOf(items);
  const members = written.type === "OBJECT" ? fieldsOf(properties) : undefined;
  if (members !== undefined) {
    written.properties = Object.fromEntries(
      Object.entries(members).map(([key, one]) => [key, protoOf(one)]),
    );
    const named = (Array.isArray(required) ? required : []).filter((key) =>
      Object.hasOwn(members, String(key)),
    );
    if (named.length > 0) written.required = named;
  }
  return written;
}

export type WrittenChoice = {
  readonly config?: Fields | undefined;
  /** True if the model may call nothing: tools that the provider runs are left out for that. */
  readonly isNone: boolean;
};

/** Writes the choice of tools. `isLoose`: the answer has a format, beside which arguments are not held to schemas. */
export function writeChoice(
  { toolChoice: choice, traits }: Pick<Turn<UpstreamName>, "toolChoice" | "traits">,
  { isStrict, functions }: WrittenTools,
  isLoose: boolean,
  decisions: Decision[],
): WrittenChoice {
  const made = (mode?: string, names?: readonly string[]): WrittenChoice => ({
    config:
      functions === undefined || mode === undefined
        ? undefined
        : { mode, ...(names !== undefined && { allowedFunctionNames: names }) },
    isNone: choice?.type === "none",
  });
  const change = (path: string, reason: string): void =>
    void decisions.push({ path, action: "changed", reason });
  switch (choice?.type) {
    case undefined:
    case "auto":
      if (!isStrict) return made(choice?.type && "AUTO");
      if (!isLoose) return made("VALIDATED");
      change("tools", "the upstream does not hold arguments to their schemas beside a format");
      return made("AUTO");
    case "none":
      return made("NONE");
    case "required":
      return made("ANY");
    case "tool":
      if (choice.tool.kind === "function") return made("ANY", [choice.tool.name]);
      change(traits.toolChoice, "the upstream cannot be forced to use a tool that it runs itself");
      return made();
    case "allowed": {
      const names = choice.tools.flatMap(({ kind, name }) => (kind === "function" ? [name] : []));
      if (names.length === 0) return made("NONE");
      if (choice.mode === "required") return made("ANY", names);
      if (isLoose) return made("AUTO");
      change(
        traits.toolChoice,
        "the upstream limits the tools only in a mode in which arguments must follow their schemas",
      );
      return made("VALIDATED", names);
    }
    default:
      return choice satisfies never;
  }
}

/** The tools that an answer with a format may call: only in a mode without a format can a request limit them. */
export function offeredTools({
  tools,
  toolChoice: choice,
}: Pick<Turn<UpstreamName>, "tools" | "toolChoice">): readonly Tool<UpstreamName>[] {
  if (choice?.type !== "allowed" || choice.mode === "required") return tools;
  const names = new Set<string>(choice.tools.map(({ name }) => name));
  return names.size === 0
    ? tools
    : tools.filter((tool) => tool.type !== "function" || names.has(tool.name));
}
