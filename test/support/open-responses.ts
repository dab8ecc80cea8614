import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const file = fileURLToPath(
  new URL("../../../shared/fixtures/open-responses/openapi.json", import.meta.url),
);
/** Whether the Open Responses schema is here to judge by. */
export const hasSchema = existsSync(file);
if (!hasSchema) process.stderr.write(`the Open Responses schema does not judge: no ${file}\n`);

type Schema = { properties?: Record<string, { enum?: string[] }> };
type Document = { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } };

// The schema has the reasoning events under other names than the API itself; the API's are written.
const renamed: Readonly<Record<string, string>> = {
  "response.reasoning_text.delta": "response.reasoning.delta",
  "response.reasoning_text.done": "response.reasoning.done",
};

const validators = new Map<string, ValidateFunction>();
const names = new Map<string, string>();
const ajv = new Ajv2020({ strict: false, allErrors: true });
if (hasSchema) {
  const document = JSON.parse(readFileSync(file, "utf8")) as Document;
  // It allows the schema of an answer's format to be null and nothing else, which no server can mean.
  const format = document.components.schemas.JsonSchemaResponseFormat?.properties;
  if (format !== undefined) format.schema = {};
  ajv.addSchema(document, "open-responses");
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const type = schema.properties?.["type"]?.enum?.[0];
    if (name.endsWith("StreamingEvent") && type !== undefined) names.set(type, name);
  }
}

function faultsAs(name: string, value: unknown): string[] {
  if (!hasSchema) return [];
  let validate = validators.get(name);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `open-responses#/components/schemas/${name}` });
    validators.set(name, validate);
  }
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ""}`);
}

/** What a response object breaks of the schema, as sentences. */
export const responseFaults = (value: unknown): string[] => faultsAs("ResponseResource", value);

/** What the answer to a request for compaction breaks of it. */
export const compactionFaults = (value: unknown): string[] => faultsAs("CompactResource", value);

/** What an event breaks of it; an event the schema does not have breaks nothing. */
export function eventFaults(event: { readonly type: string }): string[] {
  const type = renamed[event.type] ?? event.type;
  const name = names.get(type);
  if (name === undefined) return [];
  return faultsAs(name, { ...event, type }).map((fault) => `${event.type}: ${fault}`);
}

/** Whether the schema has a type of event; where there is none to judge by, it has every one. */
export const hasEvent = (type: string): boolean => !hasSchema || names.has(renamed[type] ?? type);
