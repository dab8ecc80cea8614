import { fieldsOf, textOf } from "../../dialects/shared/loose.ts";
import { isWithin } from "../../turn/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields, Tool, Turn } from "../../turn/turn.ts";

/** A tool as `thread/start` takes it. Description and schema must be there. */
export type DynamicTool = {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
};

const anyObject = { type: "object", properties: {} };

/**
 * Function tools of either dialect as dynamic tools. `none` offers nothing and
 * a forced choice only that tool; what cannot be said at thread start, such as
 * that some tool must be called, is not said here.
 */
export function buildDynamicTools(
  definitions: readonly unknown[],
  toolChoice?: unknown,
): DynamicTool[] {
  if (toolChoice === "none") return [];
  const choice = fieldsOf(toolChoice);
  const forced = textOf(fieldsOf(choice?.function)?.name) ?? textOf(choice?.name);
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
  const name = textOf(inner.name);
  if (name === undefined) return undefined;
  return dynamicTool(name, textOf(inner.description), inner.parameters);
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

/** The tools of a planned turn: all are functions by now. `lose` hears of schemas that cannot be told. */
export function dynamicTools(
  { tools, choice }: Turn<UpstreamName>,
  lose: (reason: string) => void,
): DynamicTool[] {
  if (choice?.type === "none") return [];
  return tools.filter(isFunction).map(({ name, description, schema }) => {
    if (isReadable(schema)) return dynamicTool(name, description, schema);
    lose(`the schema of \`${name}\` is nested deeper than Codex can read, so it is left open`);
    return dynamicTool(name, description, anyObject);
  });
}

/** So deep may be nested what stands in a message of ours; Codex gives no answer to what is deeper. */
const DEEPEST = 100;

/** Whether Codex can read a schema. */
export const isReadable = (schema: unknown): boolean =>
  typeof schema !== "object" || schema === null || isShallow(schema);

const isShallow = memoizeByIdentity((schema: object): boolean => isWithin(schema, DEEPEST));

const isFunction = (
  tool: Tool<UpstreamName>,
): tool is Extract<Tool<UpstreamName>, { type: "function" }> => tool.type === "function";

/** A call that the app-server asks for. */
export type DynamicCall = {
  readonly tool: string;
  readonly arguments: unknown;
  readonly callId: string;
};

/** Such a call as a delta of the chat dialect. */
export const buildToolCallDeltaFromDynamicRequest = ({
  tool,
  arguments: input,
  callId,
}: DynamicCall): Fields => ({
  tool_calls: [
    {
      id: callId,
      type: "function",
      function: {
        name: tool,
        arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}),
      },
    },
  ],
});
