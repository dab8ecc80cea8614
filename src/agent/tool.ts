import { z } from "zod";
import { isFields } from "../json/json.ts";
import { Fault } from "../turn/fault.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";
import type { SessionView } from "./session.ts";

/** A function that a model can call. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly schema: JsonSchema;
  readonly strict?: boolean | undefined;
  /** Checks and converts the arguments. Without it `schema` decides. */
  readonly validate?: ((value: unknown) => Awaitable<Validated<unknown>>) | undefined;
  /** Without it the caller runs the tool: the run ends and returns the call. */
  readonly run?: ((input: never, context: ToolContext) => Awaitable<unknown>) | undefined;
  /** Limit of one execution. */
  readonly timeoutMs?: number | undefined;
};

export type Awaitable<T> = T | Promise<T>;

export type ToolContext = {
  readonly callId: string;
  readonly session: SessionView;
  /** Aborts when the run is cancelled, its deadline passes or the tool times out. */
  readonly signal: AbortSignal;
};

/** A mistake of the author or caller of an agent. */
export const mistake = (message: string, cause?: unknown): Fault =>
  new Fault("agent.invalid", message, {}, cause);

/** Names that most providers accept; the planner renames tools for stricter ones. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

type ToolDefinition<Schema extends StandardSchema> = {
  readonly name: string;
  readonly description: string;
  /** A zod, valibot, arktype or other Standard Schema; without one the tool takes no arguments. */
  readonly params?: Schema | undefined;
  /** Replaces the JSON Schema of `params`. */
  readonly schema?: JsonSchema | undefined;
  readonly strict?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** The model receives a returned string as it is and any other value as JSON. A thrown error becomes an error result. */
  readonly run?:
    | ((input: OutputOf<Schema>, context: ToolContext) => Awaitable<unknown>)
    | undefined;
};

const NO_ARGUMENTS: Fields = { type: "object", properties: {}, additionalProperties: false };

/** Defines a tool. Throws a Fault for an invalid name and for a schema that cannot be converted. */
export function tool<Schema extends StandardSchema>(given: ToolDefinition<Schema>): Tool {
  const { name, description, params, run, strict, timeoutMs } = given;
  if (!NAME.test(name))
    throw mistake(
      `The tool name ${JSON.stringify(name)} must be 1 to 64 letters, digits, \`_\` or \`-\`.`,
    );
  const own = params && (() => jsonSchemaOf(params, "input", `The tool \`${name}\``));
  return {
    name,
    description,
    schema: given.schema ?? own?.() ?? NO_ARGUMENTS,
    ...(strict !== undefined && { strict }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(params !== undefined && {
      validate: (value: unknown) => params["~standard"].validate(value),
    }),
    ...(run !== undefined && { run }),
  };
}

/**
 * The part of the Standard Schema interface (standardschema.dev) that agents use;
 * zod, valibot and arktype implement it. The interface is copied so that none of
 * them is a dependency.
 */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema, for libraries that convert their schemas. */
    readonly jsonSchema?: Readonly<Record<Side, Converter>> | undefined;
  };
};

type Converter = (options: { readonly target: "draft-2020-12" }) => Fields;

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

/** The values that a schema accepts (`input`) or returns (`output`). */
type Side = "input" | "output";

/**
 * The JSON Schema of a Standard Schema. The library converts it itself; zod
 * schemas older than that interface are converted by zod. `what` names the schema in errors.
 */
export function jsonSchemaOf(schema: StandardSchema, side: Side, what: string): Fields {
  const { jsonSchema, vendor } = schema["~standard"];
  const inconvertible = (why: string, cause?: unknown): Fault =>
    mistake(
      `${what} has no JSON Schema: ${why}. Give one in \`schema\`, or use a library that converts (zod 4, arktype 2.2, valibot with \`toStandardJsonSchema\`).`,
      cause,
    );
  if (jsonSchema === undefined && vendor !== "zod")
    throw inconvertible(`its ${vendor} schema has no Standard JSON Schema converter`);
  try {
    const { $schema: _, ...converted } =
      jsonSchema === undefined
        ? z.toJSONSchema(schema as unknown as z.ZodType, { io: side })
        : jsonSchema[side]({ target: "draft-2020-12" });
    return converted;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw inconvertible(`${vendor} cannot convert it (${why})`, error);
  }
}

/** One line for each issue, with the path to the invalid value. */
export const issuesText = (issues: readonly Issue[]): string =>
  issues
    .map(({ message, path = [] }) => {
      const keys = path.map((part) => String(isFields(part) ? part["key"] : part));
      return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
    })
    .join("\n");
