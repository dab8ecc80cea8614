import { Ajv2020 } from "ajv/dist/2020.js";
import type { Body } from "../fake-upstream.ts";
import type { StrictModel } from "./models.ts";
import { blocksOf, listOf, refuse } from "./refuse.ts";

/** Names, schemas and which tools may or must be called. */
export function checkTools(body: Body, model: StrictModel): void {
  const tools = listOf(body["tools"]);
  const names = new Set<string>();
  for (const [at, tool] of tools.entries()) {
    const name = tool["name"] as string | undefined;
    if (name !== undefined) {
      if (names.has(name)) refuse("tools: Tool names must be unique.");
      names.add(name);
    }
    if (tool["type"] === undefined || tool["type"] === "custom")
      checkCustom(tool, `tools.${at}.custom`);
    else checkBuiltin(tool, `tools.${at}`);
  }
  if (tools.length > 0 && tools.every(({ defer_loading }) => defer_loading === true))
    refuse("tools: At least one tool must have defer_loading=false.");
  checkReferences(body, names);
  checkChoice(body, names, model);
}

const customKeys = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
  "defer_loading",
  "allowed_callers",
  "input_examples",
  "eager_input_streaming",
]);

function checkCustom(tool: Body, path: string): void {
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool["name"])))
    refuse(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  for (const key of Object.keys(tool))
    if (!customKeys.has(key)) refuse(`${path}.${key}: Extra inputs are not permitted`);
  const { description } = tool;
  if (description !== undefined && typeof description !== "string")
    refuse(`${path}.description: Input should be a valid string`);
  checkSchema(tool["input_schema"], `${path}.input_schema`);
  if (tool["strict"] === true) checkStrict(tool["input_schema"], `${path}.input_schema`);
}

/** What the API knows, with the fixed name of each. */
const builtins: readonly (readonly [RegExp, string | undefined])[] = [
  [/^bash_\d{8}$/, "bash"],
  [/^text_editor_(20241022|20250124)$/, "str_replace_editor"],
  [/^text_editor_\d{8}$/, "str_replace_based_edit_tool"],
  [/^memory_\d{8}$/, "memory"],
  [/^computer_\d{8}$/, "computer"],
  [/^(computer|browser)_toolset_\d{8}$/, undefined],
  [/^web_search_\d{8}$/, "web_search"],
  [/^web_fetch_\d{8}$/, "web_fetch"],
  [/^code_execution_\d{8}$/, "code_execution"],
  [/^tool_search_tool_regex(_\d{8})?$/, "tool_search_tool_regex"],
  [/^tool_search_tool_bm25(_\d{8})?$/, "tool_search_tool_bm25"],
  [/^mcp_toolset$/, undefined],
  [/^advisor_\d{8}$/, "advisor"],
];

function checkBuiltin(tool: Body, path: string): void {
  const type = String(tool["type"]);
  const known = builtins.find(([pattern]) => pattern.test(type));
  if (known === undefined)
    return refuse(
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`,
    );
  if (tool["name"] !== known[1]) refuse(`${path}.name: Input should be '${known[1] ?? "absent"}'`);
  if (tool["input_schema"] !== undefined)
    refuse(`${path}.input_schema: Extra inputs are not permitted`);
  if (tool["allowed_domains"] != null && tool["blocked_domains"] != null)
    refuse(`${path}: only one of allowed_domains and blocked_domains may be given`);
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
const rootUnions = ["oneOf", "allOf", "anyOf"];

function checkSchema(schema: unknown, path: string): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    return refuse(`${path}: Input should be a valid dictionary`);
  const { $schema: _, ...bare } = schema as Body;
  if (bare["type"] !== "object") refuse(`${path}.type: Input should be 'object'`);
  if (rootUnions.some((key) => key in bare))
    refuse(`${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  if (ajv.validateSchema(bare) !== true)
    refuse(
      `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12: ${ajv.errorsText()}`,
    );
  eachObject(bare, (one) => {
    for (const key of Object.keys((one["properties"] ?? {}) as Body))
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key))
        refuse(`${path}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`);
  });
}

const formats = "date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" ");
const limits =
  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems minProperties maxProperties not if then else oneOf patternProperties dependentRequired".split(
    " ",
  );

/** The part of JSON Schema that a grammar is made of. */
export function checkStrict(schema: unknown, path: string): void {
  if (isRecursive(schema as Body)) refuse(`${path}: Grammar compilation failed: recursive schemas`);
  eachObject(schema, (one) => {
    const isObject = one["type"] === "object" || one["properties"] !== undefined;
    if (isObject && one["additionalProperties"] !== false)
      refuse(`${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
    for (const key of limits)
      if (key in one)
        refuse(`${path}: Grammar compilation failed: property '${key}' is not supported`);
    if ((one["minItems"] ?? 0) > 1)
      refuse(`${path}: 'minItems' values other than 0 or 1 are not supported`);
    if (one["format"] !== undefined && !formats.includes(one["format"] as string))
      refuse(`${path}: format '${String(one["format"])}' is not supported`);
  });
}

const inner = [
  "items",
  "additionalProperties",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const maps = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

function eachObject(schema: unknown, visit: (schema: Body) => void): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  const one = schema as Body;
  visit(one);
  for (const key of inner) eachObject(one[key], visit);
  for (const key of lists) for (const value of listOf(one[key])) eachObject(value, visit);
  for (const key of maps)
    for (const value of Object.values((one[key] ?? {}) as Body)) eachObject(value, visit);
}

function isRecursive(root: Body): boolean {
  const targetOf = (ref: string): unknown =>
    ref
      .replace(/^#\/?/, "")
      .split("/")
      .filter((step) => step !== "")
      .reduce<unknown>(
        (at, step) => (at as Body | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")],
        root,
      );
  const visit = (schema: unknown, above: readonly unknown[]): boolean => {
    if (typeof schema !== "object" || schema === null) return false;
    if (above.includes(schema)) return true;
    const path = [...above, schema];
    const { $ref: ref, $defs: _, definitions: __, ...rest } = schema as Body;
    if (typeof ref === "string" && visit(targetOf(ref), path)) return true;
    return Object.values(rest).some((value) => visit(value, path));
  };
  return visit(root, []);
}

function checkReferences(body: Body, names: ReadonlySet<string>): void {
  for (const { content } of listOf(body["messages"]))
    for (const block of blocksOf(content))
      for (const one of block["type"] === "tool_result" ? blocksOf(block["content"]) : [])
        if (one["type"] === "tool_reference" && !names.has(one["tool_name"] as string))
          refuse(`Tool reference '${String(one["tool_name"])}' not found in available tools`);
}

function checkChoice(body: Body, names: ReadonlySet<string>, model: StrictModel): void {
  const choice = body["tool_choice"] as Body | undefined;
  if (choice === undefined) return;
  const { type, name } = choice;
  if (listOf(body["tools"]).length === 0)
    refuse("tool_choice: tool_choice may only be specified while providing tools");
  if (!["auto", "any", "tool", "none"].includes(type as string))
    refuse("tool_choice: Input tag found using 'type' does not match any of the expected tags");
  if (type === "none" && choice["disable_parallel_tool_use"] !== undefined)
    refuse("tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted");
  if (type !== "any" && type !== "tool") return;
  if (!model.forced) refuse('tool_choice: type "tool" and "any" are not supported for this model');
  const thinking = (body["thinking"] as Body | undefined)?.["type"] as string | undefined;
  if (thinking !== undefined && thinking !== "disabled")
    refuse("Thinking may not be enabled when tool_choice forces tool use.");
  if (type === "tool" && !names.has(name as string))
    refuse(`tool_choice.tool.name: Tool '${String(name)}' not found in provided tools`);
}
