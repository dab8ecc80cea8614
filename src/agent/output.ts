import { Fault } from "../turn/fault.ts";
import { isFields, jsonOf } from "../json/json.ts";
import type { Fields, Format } from "../turn/turn.ts";
import { issuesText, jsonSchemaOf, type StandardSchema } from "./standard-schema.ts";

/** How an answer is asked for and read. */
export type OutputForm = {
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
export function outputForm(schema: StandardSchema | undefined, name: string): OutputForm {
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
