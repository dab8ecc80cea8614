import { z } from "zod";
import { Fault } from "../turn/fault.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";
import { isFields } from "../json/json.ts";
import type { SessionView } from "./session.ts";

/** Something a model can call. Sections hold tools; who runs them is not their business. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly schema: JsonSchema;
  readonly strict?: boolean | undefined;
  /** What the arguments become, or what is wrong with them; without it `schema` decides. */
  readonly validate?: ((value: unknown) => Awaitable<Validated<unknown>>) | undefined;
  /** Without it the caller runs the tool: the loop ends and hands the call over. */
  readonly run?: ((input: never, context: ToolContext) => Awaitable<unknown>) | undefined;
  /** How long one run may take. */
  readonly timeoutMs?: number | undefined;
};

export type Awaitable<T> = T | Promise<T>;

export type ToolContext = {
  readonly callId: string;
  readonly session: SessionView;
  /** Aborts when the run is cancelled, its deadline passes or the tool's time is over. */
  readonly signal: AbortSignal;
};

/** How most providers want a tool to be called; the planner renames for those that want less. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

type ToolDefinition<Schema extends StandardSchema> = {
  readonly name: string;
  readonly description: string;
  /** A zod, valibot, arktype or other Standard Schema; without one the tool takes no arguments. */
  readonly params?: Schema | undefined;
  /** The JSON Schema to show, where `params` cannot say it. */
  readonly schema?: JsonSchema | undefined;
  readonly strict?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** A returned string is told the model as it is, anything else as JSON. What is thrown becomes an error result. */
  readonly run?:
    | ((input: OutputOf<Schema>, context: ToolContext) => Awaitable<unknown>)
    | undefined;
};

const NO_ARGUMENTS: Fields = { type: "object", properties: {}, additionalProperties: false };

/** Defines a tool. Throws a Fault where its name or schema will not do. */
export function tool<Schema extends StandardSchema>(given: ToolDefinition<Schema>): Tool {
  const { name, description, params, run, strict, timeoutMs } = given;
  if (!NAME.test(name))
    throw new Fault(
      "agent.invalid",
      `The tool name ${JSON.stringify(name)} must be 1 to 64 letters, digits, \`_\` or \`-\`.`,
    );
  const converted = (schema: Schema): JsonSchema =>
    jsonSchemaOf(schema, "input", `The tool \`${name}\``);
  return {
    name,
    description,
    schema: given.schema ?? (params === undefined ? NO_ARGUMENTS : converted(params)),
    ...(strict !== undefined && { strict }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(params !== undefined && {
      validate: (value: unknown) => params["~standard"].validate(value),
    }),
    ...(run !== undefined && { run }),
  };
}

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

type Validated<Output> =
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
type Side = "input" | "output";

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
