import { Fault } from "../turn/fault.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";
import type { SessionView } from "./session.ts";
import {
  jsonSchemaOf,
  type OutputOf,
  type StandardSchema,
  type Validated,
} from "./standard-schema.ts";

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
