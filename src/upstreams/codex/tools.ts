import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { isWithin } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Tool, Turn } from "../../turn/turn.ts";

/** A tool as `thread/start` takes it. Description and schema are required. */
export type DynamicTool = {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
};

const anyObject = { type: "object", properties: {} };

/**
 * Function tools of either dialect as dynamic tools. The choice `none` offers no
 * tool and a forced one only that tool; `thread/start` has no field for `required`.
 */
export function buildDynamicTools(
  definitions: readonly unknown[],
  toolChoice?: unknown,
): DynamicTool[] {
  if (toolChoice === "none") return [];
  const choice = fieldsOf(toolChoice);
  const forced = filledText(fieldsOf(choice?.function)?.name) ?? filledText(choice?.name);
  return definitions
    .map(readFunction)
    .filter((tool) => tool !== undefined)
    .filter((tool) => forced === undefined || tool.name === forced);
}

/** Chat keeps the function in a field of its own; Responses does not. */
function readFunction(definition: unknown): DynamicTool | undefined {
  const outer = fieldsOf(definition);
  const inner = fieldsOf(outer?.function) ?? outer;
  const type = outer?.type ?? (inner === outer ? undefined : "function");
  if (inner === undefined || type !== "function") return undefined;
  const name = filledText(inner.name);
  if (name === undefined) return undefined;
  return dynamicTool(name, filledText(inner.description), inner.parameters);
}

const dynamicTool = (
  name: string,
  description: string | undefined,
  schema: unknown,
): DynamicTool => ({
  type: "function",
  name,
  description: description ?? "",
  inputSchema: fieldsOf(schema) ?? anyObject,
});

/** The tools of a planned turn, which are all functions. `onLoss` is called for schemas that Codex cannot read. */
export function dynamicTools(
  { tools, toolChoice }: Turn<UpstreamName>,
  onLoss: (reason: string) => void,
): DynamicTool[] {
  if (toolChoice?.type === "none") return [];
  return tools.filter(isFunction).map(({ name, description, schema }) => {
    if (isReadable(schema)) return dynamicTool(name, description, schema);
    onLoss(`the schema of \`${name}\` is nested deeper than Codex can read, so it is left open`);
    return dynamicTool(name, description, anyObject);
  });
}

/** The deepest schema that Codex's JSON parser reads within a message; to a deeper one it does not reply. */
const MAX_DEPTH = 100;

/** Whether Codex can read a schema. */
export const isReadable = (schema: unknown): boolean =>
  typeof schema !== "object" || schema === null || isShallow(schema);

const isShallow = memoizeByIdentity((schema: object): boolean => isWithin(schema, MAX_DEPTH));

const isFunction = (
  tool: Tool<UpstreamName>,
): tool is Extract<Tool<UpstreamName>, { type: "function" }> => tool.type === "function";
