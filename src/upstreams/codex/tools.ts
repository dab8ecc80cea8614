import { fieldsOf, textOf } from "../../dialects/loose.ts";
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
  if (outer?.type !== "function") return undefined;
  const inner: Fields = fieldsOf(outer.function) ?? outer;
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

/** The tools of a planned turn: all are functions by now. */
export function dynamicTools({ tools, choice }: Turn<UpstreamName>): DynamicTool[] {
  if (choice?.type === "none") return [];
  return tools
    .filter(isFunction)
    .map((tool) => dynamicTool(tool.name, tool.description, tool.schema));
}

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
