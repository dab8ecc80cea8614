/** The kinds of calls in the Responses API, with the items and events of each. */

import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { exactJsonOf } from "../../json/exact.ts";

/**
 * A kind of call that the client executes, as the wire has it. The `input` of a call is the text of
 * one field; if the API has a value there, it is the JSON text of the value. `extra` keeps all other
 * fields of the item.
 */
export type CallKind = {
  readonly kind: string;
  /** The type of the item that calls. */
  readonly call: string;
  /** The field that holds the input. */
  readonly input: string;
  /** Set if the field holds a value: makes one of text that is not JSON, so that nothing is lost. */
  readonly wrap?: ((text: string) => unknown) | undefined;
  /** The type of the item that answers. */
  readonly result: string;
  readonly output: string;
  readonly outputForm: "parts" | "text" | "value";
  /** The fields of calls and results that a turn has words for. */
  readonly ofCalls: readonly string[];
  readonly ofResults: readonly string[];
  /** The prefix of the ids of such items. */
  readonly prefix: string;
  /** The stem of the events that stream the input; undefined: the input comes with the whole item. */
  readonly events?: string | undefined;
  /** Fields without meaning that readers of answers require. */
  readonly usual?: Fields | undefined;
  /** Fields of a result that the API requires and other dialects do not have. */
  readonly usualResult?: Fields | undefined;
};

const ofResults = ["type", "id", "call_id", "output"];

/** A kind whose names and fields follow the rule of the API, but for those that are given. */
function callKind(
  kind: string,
  input: string,
  more: Partial<CallKind> & Pick<CallKind, "prefix">,
): CallKind {
  const isNamed = more.wrap === undefined;
  return {
    kind,
    call: `${kind}_call`,
    input,
    result: `${kind}_call_output`,
    output: "output",
    outputForm: "parts",
    ofCalls: ["type", "id", "call_id", "namespace", input, ...(isNamed ? ["name"] : [])],
    ofResults,
    ...more,
  };
}

const functionKind = callKind("function", "arguments", {
  prefix: "fc",
  events: "response.function_call_arguments",
});

const callKinds: readonly CallKind[] = [
  functionKind,
  callKind("custom", "input", {
    call: "custom_tool_call",
    result: "custom_tool_call_output",
    prefix: "ctc",
    events: "response.custom_tool_call_input",
  }),
  callKind("local_shell", "action", {
    wrap: (text) => ({ type: "exec", command: [text], env: {} }),
    outputForm: "text",
    // Some clients name the call in `id`, as the API documents it, some in `call_id`, as for other kinds.
    ofResults: ["type", "id", "output"],
    prefix: "lsh",
  }),
  callKind("shell", "action", {
    wrap: (text) => ({ commands: [text], timeout_ms: null, max_output_length: null }),
    outputForm: "value",
    prefix: "sh",
    usual: { environment: null },
  }),
  callKind("apply_patch", "operation", {
    wrap: (text) => ({ type: "update_file", path: "", diff: text }),
    outputForm: "text",
    prefix: "apc",
    usualResult: { status: "completed" },
  }),
  callKind("tool_search", "arguments", {
    wrap: (text) => text,
    result: "tool_search_output",
    output: "tools",
    outputForm: "value",
    // The list is sent back unchanged; `declares` holds the same as tools.
    ofResults: ["type", "id", "call_id"],
    prefix: "tsc",
    usual: { execution: "client" },
  }),
];

const byKind = new Map(callKinds.map((kind) => [kind.kind, kind]));
const byCall = new Map(callKinds.map((kind) => [kind.call, kind]));
const byResult = new Map(callKinds.map((kind) => [kind.result, kind]));

/** A kind that the API does not have is sent as a function. */
export const callKindOf = (kind: string): CallKind => byKind.get(kind) ?? functionKind;
export const kindOfCall = (type: string): CallKind | undefined => byCall.get(type);
export const kindOfResult = (type: string): CallKind | undefined => byResult.get(type);

/**
 * True if the provider runs the call, so that it is not a call to the client although its type could
 * be. For a shell its environment decides, for a tool search the field `execution`.
 */
export function isHosted(raw: Fields): boolean {
  if (raw.type === "tool_search_call" || raw.type === "tool_search_output")
    return raw.execution === "server" || typeof raw.call_id !== "string";
  if (raw.type !== "shell_call") return false;
  const { environment } = raw;
  return (
    typeof environment === "object" &&
    environment !== null &&
    "type" in environment &&
    environment.type !== "local"
  );
}

/** The value that an input stands for. */
export function valueOf(kind: CallKind, text: string): unknown {
  if (kind.wrap === undefined) return text;
  const value = exactJsonOf(text);
  return typeof value === "object" && value !== null ? value : kind.wrap(text);
}

/**
 * True if a client could run a call whose input ends here. Only arguments that do not parse prevent
 * it: any text is a valid free-form input, half a value would be completed, and a call may have no
 * arguments.
 */
export const canRun = (kind: CallKind, text: string): boolean =>
  kind.kind !== "function" || text.trim() === "" || jsonOf(text) !== undefined;

const named = (names: string): string[] => names.split(" ").map((name) => `response.${name}`);

/** Events about items that the upstream works on itself, by the type of the item. */
const hostedEvents: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    code_interpreter_call: ".in_progress .interpreting .completed _code.delta _code.done",
    compaction: ".compacting",
    file_search_call: ".in_progress .searching .completed",
    image_generation_call: ".in_progress .generating .partial_image .completed",
    mcp_call: ".in_progress .completed .failed _arguments.delta _arguments.done",
    mcp_list_tools: ".in_progress .completed .failed",
    shell_call: "_command.added _command.delta _command.done",
    shell_call_output: "_content.delta _content.done",
    web_search_call: ".in_progress .searching .completed",
  }).map(([item, endings]) => [
    item,
    endings.split(" ").map((ending) => `response.${item}${ending}`),
  ]),
);

/** True if the API has an event of a type about hosted items of a type. Its readers fail on others. */
export const isHostedEvent = (itemType: unknown, eventType: string): boolean =>
  hostedEvents.get(String(itemType))?.includes(eventType) === true;

/** All types of events that the API has. */
export const eventTypes: ReadonlySet<string> = new Set([
  "error",
  "keepalive",
  ...named("created queued in_progress completed incomplete failed"),
  ...named("output_item.added output_item.done content_part.added content_part.done"),
  ...named("output_text.delta output_text.done output_text.annotation.added"),
  ...named("refusal.delta refusal.done reasoning_text.delta reasoning_text.done"),
  ...named("reasoning_summary_part.added reasoning_summary_part.done"),
  ...named("reasoning_summary_text.delta reasoning_summary_text.done"),
  ...named("function_call_arguments.delta function_call_arguments.done"),
  ...named("custom_tool_call_input.delta custom_tool_call_input.done"),
  ...named("apply_patch_call_operation_diff.delta apply_patch_call_operation_diff.done"),
  ...named("audio.delta audio.done audio.transcript.delta audio.transcript.done"),
  ...[...hostedEvents.values()].flat(),
]);
