import { isFields, jsonOf } from "../json/json.ts";
import type { Fields, Format } from "../turn/turn.ts";
import {
  type Catalog,
  catalogOf,
  leadOf,
  pathsLike,
  readCatalog,
  type ReadSectionResult,
  stateOf,
  type Section,
} from "./catalog.ts";
import { LOADERS } from "./lower.ts";
import {
  type Session,
  type SessionView,
  threadStart,
  type Visibility,
  type VisibilitySet,
} from "./session.ts";
import { mistake, issuesText, jsonSchemaOf, type OutputOf, type StandardSchema } from "./tool.ts";

/** A prompt with tools, ready to run. */
export type Agent<Params = Fields, Output = string> = {
  readonly name: string;
  readonly catalog: Catalog;
  readonly form: OutputForm;
  /** Schema of the parameters; undefined: any parameters are accepted. */
  readonly params: StandardSchema | undefined;
  /** Carries the types of its parameters and output; never set. */
  readonly types?: { readonly params: Params; readonly output: Output } | undefined;
};

type AgentDefinition<P extends StandardSchema, O extends StandardSchema> = {
  readonly name: string;
  /** Schema of the parameters of texts and conditions. */
  readonly params?: P | undefined;
  /** Schema of the answer; without it the answer is text. */
  readonly output?: O | undefined;
  readonly sections: readonly Section<OutputOf<P>>[];
};

/** Defines an agent. Throws a Fault if sections, tools, texts and parameters contradict each other. */
export function agent<
  P extends StandardSchema = StandardSchema<Fields>,
  O extends StandardSchema = StandardSchema<string>,
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

type AnyAgent = Pick<Agent<never, unknown>, "name" | "catalog" | "params">;

/** Checks and converts the parameters of a run. Throws a Fault for invalid ones. */
export async function checkParams(
  { params, name }: Pick<AnyAgent, "params" | "name">,
  given: Fields,
): Promise<Fields> {
  if (params === undefined) return given;
  const checked = await params["~standard"].validate(given);
  if (checked.issues === undefined) return checked.value as Fields;
  throw mistake(
    `The parameters of agent \`${name}\` are not as it asks: ${issuesText(checked.issues)}.`,
  );
}

/** The requested format of answers and their reader. */
type OutputForm = {
  readonly format: Format | undefined;
  /** Returns the value of an answer, or the error in it. */
  read(text: string): Promise<Checked>;
};

/** A checked value, or the error that the model receives. */
export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Providers accept only objects: any other value is requested as this member of an object. */
const MEMBER = "value";

function outputForm(schema: StandardSchema | undefined, name: string): OutputForm {
  if (schema === undefined)
    return { format: undefined, read: async (text) => ({ ok: true, value: text }) };
  const wanted = jsonSchemaOf(schema, "input", `The output of agent \`${name}\``);
  const isWhole = wanted["type"] === "object";
  const properties = { [MEMBER]: wanted };
  const wrapped = { type: "object", properties, required: [MEMBER], additionalProperties: false };
  const formatName = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
  return {
    format: { type: "schema", name: formatName, schema: isWhole ? wanted : wrapped, strict: false },
    async read(text) {
      const answer = jsonOf(text);
      if (answer === undefined) return { ok: false, problem: "It is not JSON." };
      const value = isWhole || !isFields(answer) ? answer : answer[MEMBER];
      return validated((one) => schema["~standard"].validate(one), value);
    },
  };
}

/** Validates a value by a function of a Standard Schema. */
export async function validated(
  validate: StandardSchema["~standard"]["validate"],
  value: unknown,
): Promise<Checked> {
  const checked = await validate(value);
  return checked.issues === undefined
    ? { ok: true, value: checked.value }
    : { ok: false, problem: issuesText(checked.issues) };
}

/** Result of `readSection`; `message` is its first line, or the error. */
export type ReadSectionOutcome =
  | { readonly success: true; readonly message: string; readonly value: ReadSectionResult }
  | { readonly success: false; readonly message: string; readonly value: undefined };

/**
 * Reads a section as `read_section` does and opens it in the session, so that the next run shows it
 * whole. A key that does not exist, or not for these parameters, is `success: false` with a message
 * that names the nearest.
 */
export async function readSection<P, O>(
  agent: Agent<P, O>,
  given: P,
  { key, session }: { readonly key: string; readonly session: Session },
): Promise<ReadSectionOutcome> {
  const params = await checkParams(agent, given as Fields);
  const state = stateOf({ params, session }, session.overrides);
  const reading = readCatalog(agent.catalog, key, state, LOADERS.read);
  if (reading.type === "unknown")
    return { success: false, message: reading.message, value: undefined };
  if (reading.type === "opened")
    session.dispatch(...reading.opens.map((path) => ({ path, visibility: "full" }) as const));
  return { success: true, message: leadOf(reading), value: reading.result };
}

/** A `SetVisibilityOverride` for `session.dispatch`. Throws a Fault if the agent has no such section. */
export function setVisibilityOverride(
  agent: AnyAgent,
  path: string,
  visibility: Visibility,
): VisibilitySet {
  checkPath(agent, path);
  return { type: "visibility-set", path, visibility, by: "caller" };
}

/** Throws a Fault if the caller set the visibility of an unknown section since the last run. */
export function checkOverrides(agent: AnyAgent, { events }: SessionView): void {
  // Earlier runs have checked the events before the start of the conversation.
  for (const event of events.slice(threadStart(events) + 1))
    if (event.type === "visibility-set" && event.by === "caller") checkPath(agent, event.path);
}

function checkPath({ catalog, name }: AnyAgent, path: string): void {
  if (catalog.byPath.has(path)) return;
  const [meant] = pathsLike(path, catalog.nodes);
  const paths = catalog.nodes.map((node) => `\`${node.path}\``).join(", ");
  const hint = meant === undefined ? ` Its sections are ${paths}.` : ` Did you mean \`${meant}\`?`;
  throw mistake(
    `The agent \`${name}\` has no section \`${path.slice(0, 200)}\`, whose visibility was to be set.${hint}`,
  );
}
