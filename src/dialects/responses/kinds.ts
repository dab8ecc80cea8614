/** The kinds of calls in the Responses API, with the items and events of each. */

import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { exactJsonOf } from "../../json/exact.ts";

/**
 * A kind of call that the client executes, as the wire has it. A call's `input`
 * is the text of one field; where the API has a value there, it is the value's
 * JSON text. Whatever else the item holds is kept in `extra`.
 */
export type CallKind = {
  readonly kind: string;
  /** The type of the item that calls. */
  readonly call: string;
  /** Where it keeps the input. */
  readonly input: string;
  /** The field holds a value. Makes one of text that is none, so that nothing is lost. */
  readonly wrap?: ((text: string) => unknown) | undefined;
  /** The type of the item that answers. */
  readonly result: string;
  readonly output: string;
  readonly outputForm: "parts" | "text" | "value";
  /** The fields of calls and results that a turn has words for. */
  readonly ofCalls: readonly string[];
  readonly ofResults: readonly string[];
  /** What the ids of such items begin with. */
  readonly prefix: string;
  /** The stem of the events that stream the input; undefined: the input comes with the whole item. */
  readonly events?: string | undefined;
  /** What readers expect in an answer though it says nothing. */
  readonly usual?: Fields | undefined;
  /** What the API expects of a result though a client of another dialect has no word for it. */
  readonly usualResult?: Fields | undefined;
};

const functionKind: CallKind = {
  kind: "function",
  call: "function_call",
  input: "arguments",
  result: "function_call_output",
  output: "output",
  outputForm: "parts",
  ofCalls: ["type", "id", "call_id", "namespace", "arguments", "name"],
  ofResults: ["type", "id", "call_id", "output"],
  prefix: "fc",
  events: "response.function_call_arguments",
};

const callKinds: readonly CallKind[] = [
  functionKind,
  {
    kind: "custom",
    call: "custom_tool_call",
    input: "input",
    result: "custom_tool_call_output",
    output: "output",
    outputForm: "parts",
    ofCalls: ["type", "id", "call_id", "namespace", "input", "name"],
    ofResults: functionKind.ofResults,
    prefix: "ctc",
    events: "response.custom_tool_call_input",
  },
  {
    kind: "local_shell",
    call: "local_shell_call",
    input: "action",
    wrap: (text) => ({ type: "exec", command: [text], env: {} }),
    result: "local_shell_call_output",
    output: "output",
    outputForm: "text",
    ofCalls: ["type", "id", "call_id", "namespace", "action"],
    // Some name the call in `id`, as the API has it, and some in `call_id`, as it has it elsewhere.
    ofResults: ["type", "id", "output"],
    prefix: "lsh",
  },
  {
    kind: "shell",
    call: "shell_call",
    input: "action",
    wrap: (text) => ({ commands: [text], timeout_ms: null, max_output_length: null }),
    result: "shell_call_output",
    output: "output",
    outputForm: "value",
    ofCalls: ["type", "id", "call_id", "namespace", "action"],
    ofResults: functionKind.ofResults,
    prefix: "sh",
    usual: { environment: null },
  },
  {
    kind: "apply_patch",
    call: "apply_patch_call",
    input: "operation",
    wrap: (text) => ({ type: "update_file", path: "", diff: text }),
    result: "apply_patch_call_output",
    output: "output",
    outputForm: "text",
    ofCalls: ["type", "id", "call_id", "namespace", "operation"],
    ofResults: functionKind.ofResults,
    prefix: "apc",
    usualResult: { status: "completed" },
  },
  {
    kind: "tool_search",
    call: "tool_search_call",
    input: "arguments",
    wrap: (text) => text,
    result: "tool_search_output",
    output: "tools",
    outputForm: "value",
    ofCalls: ["type", "id", "call_id", "namespace", "arguments"],
    // Sent back unchanged; `declares` holds the same as tools.
    ofResults: ["type", "id", "call_id"],
    prefix: "tsc",
    usual: { execution: "client" },
  },
];

const byKind = new Map(callKinds.map((kind) => [kind.kind, kind]));
const byCall = new Map(callKinds.map((kind) => [kind.call, kind]));
const byResult = new Map(callKinds.map((kind) => [kind.result, kind]));

/** A kind the API does not have can only be a function to it. */
export const kindOf = (kind: string): CallKind => byKind.get(kind) ?? functionKind;
export const kindOfCall = (type: string): CallKind | undefined => byCall.get(type);
export const kindOfResult = (type: string): CallKind | undefined => byResult.get(type);

/**
 * Whether the provider runs what an item calls: then it is no call to the
 * client, though its type could be. A shell says so by its environment, a tool
 * search by who executes it.
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
 * Whether a client could run a call that has no more input than this. Only
 * arguments that do not parse keep it from that: free text is always some
 * input, half a value would be made a whole one, and no arguments are none.
 */
export const canRun = (kind: CallKind, text: string): boolean =>
  kind.kind !== "function" || text.trim() === "" || jsonOf(text) !== undefined;
