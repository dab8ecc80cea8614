import { Fault } from "../turn/fault.ts";
import { isFields, jsonOf } from "../json/json.ts";
import type { Fields, Format } from "../turn/turn.ts";
import { nearest } from "../diagnostics/nearest.ts";
import {
  type Catalog,
  catalogOf,
  readSection,
  type ReadSectionResult,
  stateOf,
} from "./catalog.ts";
import { LOADERS } from "./loader.ts";
import type { Section } from "./section.ts";
import { issuesText, jsonSchemaOf, type OutputOf, type StandardSchema } from "./tool.ts";
import { leadOf } from "./lower.ts";
import type { Session, SessionView, Visibility, VisibilitySet } from "./session.ts";

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

/** How an answer is asked for and read. */
type OutputForm = {
  readonly format: Format | undefined;
  /** The value of an answer, or what is wrong with it. */
  read(text: string): Promise<Read>;
};

type Read =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

const TEXT: OutputForm = {
  format: undefined,
  read: async (text) => ({ ok: true, value: text }),
};

/** Providers only take objects: what is none is asked for as the one member of one. */
const MEMBER = "value";

/** An answer by a Standard Schema; without one, the text itself. */
function outputForm(schema: StandardSchema | undefined, name: string): OutputForm {
  if (schema === undefined) return TEXT;
  // What the model writes is what the schema takes.
  const wanted = jsonSchemaOf(schema, "input", `The output of agent \`${name}\``);
  const isWhole = wanted["type"] === "object";
  const inner: Fields = isWhole
    ? wanted
    : {
        type: "object",
        properties: { [MEMBER]: wanted },
        required: [MEMBER],
        additionalProperties: false,
      };
  return {
    format: { type: "schema", name: formatName(name), schema: inner, strict: false },
    async read(text) {
      const said = jsonOf(text);
      if (said === undefined) return { ok: false, problem: "It is not JSON." };
      const value = isWhole || !isFields(said) ? said : said[MEMBER];
      const checked = await schema["~standard"].validate(value);
      return checked.issues === undefined
        ? { ok: true, value: checked.value }
        : { ok: false, problem: issuesText(checked.issues) };
    },
  };
}

const formatName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);

/** What a model is told whose answer will not do. */
export const correction = (problem: string): string =>
  `Your answer does not have the form that was asked for. ${problem}\nAnswer again, in that form and with nothing else.`;

export const badOutput = (problem: string): Fault =>
  new Fault("agent.output", `The model's answer is not what \`output\` asks for. ${problem}`);

/** Functions by which a caller reads, opens and closes sections between two runs. */
type AnyAgent = Pick<Agent<never, unknown>, "name" | "catalog" | "params">;

/** Result of `readSection`; `message` is its first line, or the error. */
export type ReadSectionOutcome =
  | { readonly success: true; readonly message: string; readonly value: ReadSectionResult }
  | { readonly success: false; readonly message: string; readonly value: undefined };

/** Reads a section as `read_section` does and opens it in the session, so that the next run shows it whole. */
export async function readAgentSection(
  agent: AnyAgent,
  given: Fields,
  { key, session }: { readonly key: string; readonly session: Session },
): Promise<ReadSectionOutcome> {
  const params = await checkParams(agent, given);
  const state = stateOf({ params, session }, session.overrides);
  const reading = readSection(agent.catalog, key, state, LOADERS.read);
  if (reading.type === "unknown")
    return { success: false, message: reading.message, value: undefined };
  if (reading.type === "opened")
    session.dispatch(...reading.opens.map((path) => ({ path, visibility: "full" }) as const));
  return { success: true, message: leadOf(reading), value: reading.result };
}

/** A `SetVisibilityOverride` for `session.dispatch`. Throws a Fault where the agent has no such section. */
export function setVisibilityOverride(
  agent: AnyAgent,
  path: string,
  visibility: Visibility,
): VisibilitySet {
  checkPath(agent, path);
  return { type: "visibility-set", path, visibility, by: "caller" };
}

/** Refuses what the caller set since the last run for sections that the agent does not have. */
export function checkOverrides(agent: AnyAgent, { events }: SessionView): void {
  // A run that finds such an event begins a new conversation: those before it were checked.
  const start = events.findLastIndex(({ type }) => type === "thread-started");
  for (const event of events.slice(start + 1))
    if (event.type === "visibility-set" && event.by === "caller") checkPath(agent, event.path);
}

function checkPath({ catalog, name }: AnyAgent, path: string): void {
  if (catalog.byPath.has(path)) return;
  const last = path.split(".").at(-1);
  const near =
    catalog.nodes.find(({ section }) => section.key === last)?.path ??
    nearest(path, [...catalog.byPath.keys()]);
  const hint =
    near === undefined
      ? ` Its sections are ${[...catalog.byPath.keys()].map((one) => `\`${one}\``).join(", ")}.`
      : ` Did you mean \`${near}\`?`;
  throw new Fault(
    "agent.invalid",
    `The agent \`${name}\` has no section \`${path.slice(0, 200)}\`, whose visibility was to be set.${hint}`,
  );
}
