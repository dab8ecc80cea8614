import { z } from "zod";
import { Fault } from "../turn/fault.ts";
import { isFields } from "../json/json.ts";
import type { Fields } from "../turn/turn.ts";

/**
 * What zod, valibot and arktype schemas have in common (standardschema.dev),
 * as far as it is used here. Written out because it is an interface to match,
 * not code to depend on.
 */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: libraries that have it convert themselves. */
    readonly jsonSchema?: Converter | undefined;
  };
};

type Converter = {
  readonly input: (options: { readonly target: "draft-2020-12" }) => Fields;
  readonly output: (options: { readonly target: "draft-2020-12" }) => Fields;
};

export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

type Issue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

export type OutputOf<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

/** `input`: what may be given to the schema. `output`: what it makes of that. */
export type Side = "input" | "output";

/**
 * The JSON Schema of a Standard Schema: by the library's own converter, or by
 * zod's for zod schemas older than that converter. `what` names the schema in
 * the error where neither applies.
 */
export function jsonSchemaOf(schema: StandardSchema, side: Side, what: string): Fields {
  const converted = convert(schema, side, what);
  const { $schema: _, ...rest } = converted;
  return rest;
}

function convert(schema: StandardSchema, side: Side, what: string): Fields {
  const { jsonSchema, vendor } = schema["~standard"];
  try {
    if (jsonSchema !== undefined) return jsonSchema[side]({ target: "draft-2020-12" });
    if (vendor === "zod") return z.toJSONSchema(schema as unknown as z.ZodType, { io: side });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw inconvertible(what, `${vendor} cannot convert it (${why})`, error);
  }
  throw inconvertible(what, `its ${vendor} schema has no Standard JSON Schema converter`);
}

const inconvertible = (what: string, why: string, cause?: unknown): Fault =>
  new Fault(
    "agent.invalid",
    `${what} has no JSON Schema: ${why}. Give one in \`schema\`, or use a library that converts (zod 4, arktype 2.2, valibot with \`toStandardJsonSchema\`).`,
    {},
    cause,
  );

/** What is wrong with a value, a line for each issue, with the path to it. */
export function issuesText(issues: readonly Issue[]): string {
  const lines = issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => String(isFields(part) ? part["key"] : part));
    return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
  });
  return lines.join("\n");
}
