import { Fault } from "../turn/fault.ts";
import { isFields } from "../json/json.ts";
import type { Fields } from "../turn/turn.ts";
import { catalogOf, type Catalog } from "./catalog.ts";
import { LOADERS } from "./loader.ts";
import { outputForm, type OutputForm } from "./output.ts";
import type { Section } from "./section.ts";
import { issuesText, jsonSchemaOf, type OutputOf, type StandardSchema } from "./standard-schema.ts";

/** A prompt with tools, ready to run. */
export type Agent<Params = Fields, Output = string> = {
  readonly name: string;
  readonly catalog: Catalog;
  readonly form: OutputForm;
  /** Of the parameters; none: whatever is given is taken. */
  readonly params: StandardSchema | undefined;
  /** Only for the types of its parameters and output. */
  readonly types?: { readonly params: Params; readonly output: Output } | undefined;
};

type AgentDefinition<P extends StandardSchema, O extends StandardSchema> = {
  readonly name: string;
  /** What the texts of the sections may depend on. */
  readonly params?: P | undefined;
  /** What the answer must be; without it, text. */
  readonly output?: O | undefined;
  readonly sections: readonly Section<OutputOf<P>>[];
};

type TextSchema = StandardSchema<string>;

/** Defines an agent. Throws a Fault where sections, tools, texts and parameters do not fit each other. */
export function agent<
  P extends StandardSchema = StandardSchema<Fields>,
  O extends StandardSchema = TextSchema,
>(given: AgentDefinition<P, O>): Agent<OutputOf<P>, OutputOf<O>> {
  const { name, params, output, sections } = given;
  const known = params === undefined ? [] : namesOf(params, name);
  const rules = { reserved: Object.values(LOADERS), params: known };
  return { name, catalog: catalogOf(sections, rules), form: outputForm(output, name), params };
}

function namesOf(params: StandardSchema, name: string): readonly string[] | undefined {
  const schema = jsonSchemaOf(params, "output", `The parameters of agent \`${name}\``);
  const { properties, additionalProperties } = schema;
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  return isFields(properties) && !isOpen ? Object.keys(properties) : undefined;
}

/** The parameters of a run as the agent takes them. Throws a Fault where they are not. */
export async function checkParams(
  { params, name }: Pick<Agent<never, unknown>, "params" | "name">,
  given: Fields,
): Promise<Fields> {
  if (params === undefined) return given;
  const checked = await params["~standard"].validate(given);
  if (checked.issues === undefined) return checked.value as Fields;
  throw new Fault(
    "agent.invalid",
    `The parameters of agent \`${name}\` are not as it asks: ${issuesText(checked.issues)}.`,
  );
}
