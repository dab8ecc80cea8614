/** Reads Chat Completions requests. Each field is checked where it is read; a Fault names the one that is wrong. */

import { append } from "../../turn/append.ts";
import type { Decision } from "../../turn/decision.ts";
import { clientName } from "../../turn/names.ts";
import { isSeal } from "../../turn/seal.ts";
import type { Call, Fields, Item, Part, Reasoning, ToolChoice, Turn } from "../../turn/turn.ts";
import { responsesDoor } from "../responses/traits.ts";
import { filledText, fieldsOf, given, numberOf } from "../shared/loose.ts";
import { readContent, readFormat } from "../shared/openai-content.ts";
import { chatForm, unknownFields } from "../shared/openai-form.ts";
import {
  readNamed,
  readOldFunction,
  readTool,
  readToolChoice,
  toolsReader,
} from "../shared/openai-tools.ts";
import { readParams } from "../shared/params.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalFlagAt,
  optionalListAt,
  optionalTextAt,
  readModel,
  repairInto,
  textAt,
  type Repair,
} from "../shared/shape.ts";
import { declaresFunctions, detailsText, readAnnotation } from "./answer-fields.ts";
import { chatTraits } from "./traits.ts";

/** The fields that are read here. The table of parameters has the others. */
const own = new Set(
  "model messages tools tool_choice functions function_call response_format stream stream_options logprobs".split(
    " ",
  ),
);

export function readRequest(body: Fields): Turn {
  const model = readModel(body.model);
  const { messages } = body;
  if (messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  if (!Array.isArray(messages))
    throw invalid(
      "messages",
      'must be an array of messages such as {"role":"user","content":"Hi"}',
    );
  if (messages.length === 0) throw invalid("messages", "must hold at least one message");
  const stream = optionalFlagAt(body.stream, "stream") === true;
  const hasLogprobs = optionalFlagAt(body.logprobs, "logprobs") === true;
  const { stream_options: options } = body;
  const { include_usage: usageWanted, ...otherOptions } =
    options == null ? none : fieldsAt(options, "stream_options", "an object");
  const { params, extra } = readParams(chatTraits, body, own);
  const repairs: Decision[] = [];
  const repair = repairInto(repairs);
  for (const field of ["functions", "function_call"])
    if (body[field] != null) repair(field, "chat has tools now");
  const { items, places } = readMessages(messages, repair);
  const idle = idleFields(body);
  for (const name of idle) repair(name, "it means nothing without tools");
  const tools = body.tools == null ? readFunctions(body.functions) : readTools(body.tools);
  append(repairs, tools.repairs);
  const hasChoice =
    (body.tool_choice !== undefined || body.function_call != null) && !idle.includes("tool_choice");
  return {
    dialect: "chat",
    traits: chatTraits,
    model,
    items,
    places,
    tools: tools.tools,
    toolChoice: hasChoice ? readChoice(body, repair) : undefined,
    format:
      body.response_format == null
        ? undefined
        : readFormat(body.response_format, "response_format", chatForm, repair),
    params: {
      ...(hasLogprobs && { logprobs: 0 }),
      ...params,
      ...(idle.includes("parallel_tool_calls") && { parallelCalls: undefined }),
      // The old form has room for one call.
      ...(declaresFunctions(body) && { parallelCalls: false }),
    },
    stream,
    usageWanted: optionalFlagAt(usageWanted, "stream_options.include_usage") === true,
    extra: {
      dialect: "chat",
      // Upstreams refuse options of streams in other requests.
      fields:
        stream && Object.keys(otherOptions).length > 0
          ? { ...extra, stream_options: otherOptions }
          : extra,
    },
    repairs,
    body,
  };
}

const none: Fields = {};
const noFields: readonly string[] = [];

/** The fields about tools in a request that declares none: chat refuses each of them, an empty list too. */
function idleFields(body: Fields): readonly string[] {
  const { tools, functions, tool_choice: choice, parallel_tool_calls: parallel } = body;
  for (const list of [tools, functions])
    if (Array.isArray(list) && list.length > 0) return noFields;
  const idle: string[] = [];
  if (Array.isArray(tools)) idle.push("tools");
  // One that asks for a call is a mistake and refused.
  if (choice === "auto" || choice === "none") idle.push("tool_choice");
  if (typeof parallel === "boolean") idle.push("parallel_tool_calls");
  return idle;
}

const readTools = toolsReader("tools", (raw, path, repair) =>
  readTool(raw, path, chatForm, repair),
);
const readFunctions = toolsReader("functions", (raw, path) => readOldFunction(raw, path, chatForm));

/** Reads `tool_choice`, or the old `function_call`, which is reported once. */
function readChoice(
  { tool_choice: choice, function_call: old }: Fields,
  repair: Repair,
): ToolChoice | undefined {
  if (choice !== undefined) return readToolChoice(choice, "tool_choice", chatForm, repair);
  if (typeof old === "string") return readToolChoice(old, "function_call", chatForm, () => {});
  return { type: "tool", tool: readNamed("function", old, "function_call") };
}

/** The reason for the repair of a message in the form of old functions. */
const OLD_MESSAGE = "chat has calls and results of tools now";

/** Reads `messages` as items: one of an assistant may hold reasoning, text and calls. */
function readMessages(
  messages: readonly unknown[],
  repair: Repair,
): Required<Pick<Turn, "items" | "places">> {
  const items: Item[] = [];
  const places: number[] = [];
  const calls = new Map<string, Call>();
  const idsByName = new Map<string, string>();
  for (let at = 0; at < messages.length; at++) {
    const path = `messages[${at}]`;
    const message = fieldsAt(messages[at], path, MESSAGE);
    const { role, content } = message;
    const named = message.name == null ? none : { name: textAt(message.name, `${path}.name`) };
    switch (role) {
      case "system":
      case "developer":
      case "user": {
        const parts = readContent(content, `${path}.content`, chatForm, repair);
        items.push({
          type: "message",
          role,
          parts,
          ...named,
          ...unknownFields(chatForm, message, messageKeys),
        });
        break;
      }
      case "assistant":
        for (const item of readAssistant(message, { path, at, repair })) {
          if (item.type === "call") {
            calls.set(item.id, item);
            idsByName.set(item.name, item.id);
          }
          items.push(item);
        }
        break;
      case "tool": {
        const id = message.tool_call_id;
        if (typeof id !== "string" || id === "")
          throw invalid(`${path}.tool_call_id`, "must be the id of the call that this answers");
        const kind = calls.get(id)?.kind ?? "function";
        const parts = readResult(content, path, repair);
        const extra = unknownFields(chatForm, message, resultKeys);
        items.push({ type: "result", call: id, kind, ...named, parts, ...extra });
        break;
      }
      case "function": {
        repair(path, OLD_MESSAGE);
        // The old form has no ids: it answers the last call of that name.
        const id = idsByName.get(filledText(message.name) ?? "") ?? legacyId(at);
        const parts = readResult(content, path, repair);
        const extra = unknownFields(chatForm, message, messageKeys);
        items.push({ type: "result", call: id, kind: "function", parts, ...extra });
        break;
      }
      default:
        throw invalid(`${path}.role`, `must be one of ${roles.join(", ")}`);
    }
    while (places.length < items.length) places.push(at);
  }
  return { items, places };
}

const MESSAGE = "a message: an object with `role` and `content`";
const roles = ["system", "developer", "user", "assistant", "tool", "function"];
const messageKeys = ["role", "name", "content"];
const resultKeys = [...messageKeys, "tool_call_id"];
const assistantKeys = [
  ...messageKeys,
  "refusal",
  "tool_calls",
  "function_call",
  "annotations",
  "reasoning_content",
  "reasoning_details",
];
const reasoningKeys = [...assistantKeys, "reasoning"];

/** The place of a message in the list, and the receiver of its repairs. */
type Place = { readonly path: string; readonly at: number; readonly repair: Repair };

function readAssistant(message: Fields, place: Place): Item[] {
  const { path, at, repair } = place;
  const { reasoning, reasoning_details: details, function_call: oldCall } = message;
  const refusal = optionalTextAt(message.refusal, `${path}.refusal`);
  const thoughts = optionalTextAt(message.reasoning_content, `${path}.reasoning_content`);
  const rawCalls = optionalListAt(message.tool_calls, `${path}.tool_calls`);
  const items: Item[] = [];
  const { sealed, others } = splitDetails(optionalListAt(details, `${path}.reasoning_details`));
  const words = filledText(thoughts) ?? filledText(reasoning);
  // The text of sealed thoughts is in their entries.
  const thought = readReasoning(sealed.length > 0 ? undefined : words, others);
  if (thought !== undefined) items.push(thought);
  // Some upstreams refuse calls without the field, so an empty one is kept.
  else if (thoughts === "" && message.tool_calls != null)
    items.push({ type: "reasoning", summary: [], content: [""] });

  const calls = rawCalls.map((raw, index) => readCall(raw, `${path}.tool_calls[${index}]`));
  if (oldCall != null) {
    repair(path, OLD_MESSAGE);
    calls.push(readOldCall(oldCall, `${path}.function_call`, at));
  }
  const parts = readText(message, refusal, place, calls.length > 0);
  const { extra } = unknownFields(
    chatForm,
    message,
    typeof reasoning === "string" ? reasoningKeys : assistantKeys,
  );
  if (parts.length > 0 || calls.length === 0 || extra !== undefined) {
    const name = typeof message.name === "string" ? message.name : undefined;
    items.push({ type: "message", role: "assistant", parts, ...given({ name, extra }) });
  }
  append(items, calls);
  return sealed.length === 0 ? items : inPlace(items, sealed);
}

/** A thought that the gateway sealed, and its place among the items of the answer. */
type Sealed = { readonly thought: Reasoning; readonly index: number };

function splitDetails(details: readonly unknown[]): {
  readonly sealed: readonly Sealed[];
  readonly others: readonly unknown[];
} {
  const sealed: Sealed[] = [];
  const others: unknown[] = [];
  for (const raw of details) {
    const { text, signature, data, index } = fieldsOf(raw) ?? {};
    const encrypted = isSeal(signature) ? signature : data;
    if (!isSeal(encrypted)) {
      others.push(raw);
      continue;
    }
    const words = filledText(text);
    const summary = words === undefined ? [] : [words];
    const thought: Reasoning = { type: "reasoning", summary, content: [], encrypted };
    sealed.push({ thought, index: numberOf(index) ?? 0 });
  }
  return { sealed, others };
}

/** Puts sealed thoughts at their places: a message has one field for all of them. */
function inPlace(items: readonly Item[], sealed: readonly Sealed[]): Item[] {
  const placed: Item[] = [];
  let next = 0;
  for (const { thought, index } of sealed) {
    const end = Math.max(next, next + index - placed.length);
    append(placed, items.slice(next, end));
    next = Math.min(end, items.length);
    placed.push(thought);
  }
  append(placed, items.slice(next));
  return placed;
}

/** Reads the content of an assistant. An empty text next to calls means none. */
function readText(
  { content, annotations }: Fields,
  refusal: string | undefined,
  { path, repair }: Place,
  hasCalls: boolean,
): Part[] {
  const isNone = content === undefined || content === null || (content === "" && hasCalls);
  const parts = isNone ? [] : readContent(content, `${path}.content`, chatForm, repair);
  if (refusal !== undefined) parts.push({ type: "refusal", text: refusal });
  const [first] = parts;
  if (!Array.isArray(annotations) || annotations.length === 0 || first?.type !== "text")
    return parts;
  return [{ ...first, annotations: annotations.map(readAnnotation) }, ...parts.slice(1)];
}

function readReasoning(
  text: string | undefined,
  details: readonly unknown[],
): Reasoning | undefined {
  const words = text ?? detailsText(details);
  if (words === "" && details.length === 0) return undefined;
  return {
    type: "reasoning",
    summary: [],
    content: words === "" ? [] : [words],
    ...(details.length === 0 ? {} : { details }),
  };
}

function readCall(value: unknown, path: string): Call {
  const raw = fieldsAt(value, path, "a tool call: an object with `id`, `type` and `function`");
  const id = filledTextAt(raw.id, `${path}.id`);
  const type = optionalTextAt(raw.type, `${path}.type`);
  const isCustom = raw.custom != null && (type === "custom" || raw.function == null);
  const kind = isCustom ? "custom" : "function";
  const where = `${path}.${kind}`;
  const field = isCustom ? "input" : "arguments";
  const called = fieldsAt(raw[kind], where, `an object with \`name\` and \`${field}\``);
  return {
    type: "call",
    id,
    kind,
    name: clientName(filledTextAt(called.name, `${where}.name`)),
    input: optionalTextAt(called[field], `${where}.${field}`) ?? "",
    ...given({ namespace: filledText(called.namespace) }),
    ...unknownFields(chatForm, raw, callKeys, kind, ["name", "namespace", field]),
  };
}

const callKeys = ["id", "type", "function", "custom"];

function readOldCall(value: unknown, path: string, at: number): Call {
  const { name, arguments: input } = fieldsAt(value, path, "an object with `name` and `arguments`");
  return {
    type: "call",
    id: legacyId(at),
    kind: "function",
    name: clientName(filledTextAt(name, `${path}.name`)),
    input: optionalTextAt(input, `${path}.arguments`) ?? "",
  };
}

/** An id for a call in the old form: its place does not change from turn to turn. */
const legacyId = (at: number): string => `call_${at}`;

function readResult(content: unknown, path: string, repair: Repair): Part[] {
  if (content === undefined || content === null) return [];
  return readContent(content, `${path}.content`, chatForm, repair);
}
