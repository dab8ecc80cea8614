import type { Call, Fields, Item, Message, Part, Reasoning, Turn } from "../../turn/turn.ts";
import { append } from "../../turn/append.ts";
import { clientName } from "../../turn/names.ts";
import { isSeal } from "../../turn/seal.ts";
import { invalid, readModel, shaped } from "../shared/shape.ts";
import { readParams } from "../shared/params.ts";
import { collectRepairs, type Repair } from "../shared/repairs.ts";
import { responsesDoor } from "../responses/route.ts";
import { fieldsOf, filledText, numberOf } from "../shared/loose.ts";
import { readToolChoice, readTools } from "./tools.ts";
import {
  assistantSchema,
  bodySchema,
  callSchema,
  extraOf,
  inNamespace,
  legacyCallSchema,
  messageSchema,
  readFormat,
} from "./schema.ts";
import { declaresFunctions, oldFields } from "./old-form.ts";
import { chatTraits } from "./traits.ts";
import { readAnnotation } from "./citations.ts";
import { detailsText } from "./details.ts";
import { readContent } from "./content-parts.ts";

/** The fields about tools in a request that declares none: chat refuses each of them, an empty list too. */
export function idleFields(body: Fields): readonly string[] {
  const { tools, functions, tool_choice: choice, parallel_tool_calls: parallel } = body;
  if ([tools, functions].some((list) => Array.isArray(list) && list.length > 0)) return [];
  const idle: string[] = [];
  if (Array.isArray(tools)) idle.push("tools");
  // One that asks for a call is a mistake and refused.
  if (choice === "auto" || choice === "none") idle.push("tool_choice");
  if (typeof parallel === "boolean") idle.push("parallel_tool_calls");
  return idle;
}

/** Reads `messages` as items: one of an assistant may hold reasoning, text and calls. */
export function readMessages(
  messages: readonly unknown[],
  repair: Repair,
): Required<Pick<Turn, "items" | "places">> {
  const items: Item[] = [];
  const places: number[] = [];
  const calls = new Map<string, Call>();
  /** The id of the last call of each name. */
  const idsByName = new Map<string, string>();
  for (const [at, raw] of messages.entries()) {
    const path = `messages[${at}]`;
    const { role, name, content, ...rest } = shaped(messageSchema, raw, path);
    switch (role) {
      case "system":
      case "developer":
      case "user":
        items.push({
          type: "message",
          role,
          parts: readContent(content, `${path}.content`, repair),
          ...(name == null ? {} : { name }),
          ...extraOf(rest),
        });
        break;
      case "assistant":
        for (const item of readAssistant({ name, content, ...rest }, { path, at, repair })) {
          if (item.type === "call") {
            calls.set(item.id, item);
            idsByName.set(item.name, item.id);
          }
          items.push(item);
        }
        break;
      case "tool": {
        const { tool_call_id: id, ...more } = rest;
        if (typeof id !== "string" || id === "")
          throw invalid(`${path}.tool_call_id`, "must be the id of the call that this answers");
        const kind = calls.get(id)?.kind ?? "function";
        const parts = readResult(content, path, repair);
        const named = name == null ? {} : { name };
        items.push({ type: "result", call: id, kind, ...named, parts, ...extraOf(more) });
        break;
      }
      case "function": {
        repair(path, OLD_MESSAGE);
        // The old form has no ids: it answers the last call of that name.
        const id = idsByName.get(name ?? "") ?? legacyId(at);
        const parts = readResult(content, path, repair);
        items.push({ type: "result", call: id, kind: "function", parts, ...extraOf(rest) });
        break;
      }
      default:
        role satisfies never;
    }
    while (places.length < items.length) places.push(at);
  }
  return { items, places };
}

/** A message from before there were tools. */
const OLD_MESSAGE = "chat has calls and results of tools now";

/** Where a message stands among all, and who hears of what is repaired in it. */
type Place = { readonly path: string; readonly at: number; readonly repair: Repair };

function readAssistant(message: Fields, place: Place): Item[] {
  const { path, at, repair } = place;
  const read = shaped(assistantSchema, message, path);
  const { name, content, refusal, tool_calls, function_call, annotations, ...said } = read;
  const { reasoning_content, reasoning, reasoning_details, ...rest } = said;
  const items: Item[] = [];
  const { sealed, others } = splitDetails(reasoning_details ?? []);
  const words = filledText(reasoning_content) ?? filledText(reasoning);
  // The words of thoughts that are sealed stand with their seals.
  const thought = readReasoning(sealed.length > 0 ? undefined : words, others);
  if (thought !== undefined) items.push(thought);
  // Some upstreams refuse calls without the field, so its being there means something.
  else if (reasoning_content === "" && tool_calls != null)
    items.push({ type: "reasoning", summary: [], content: [""] });

  const calls = (tool_calls ?? []).map((raw, index) =>
    readCall(raw, `${path}.tool_calls[${index}]`),
  );
  if (function_call !== undefined && function_call !== null) {
    repair(path, OLD_MESSAGE);
    calls.push(readLegacyCall(function_call, `${path}.function_call`, at));
  }
  const text = readText({ content, refusal, annotations }, place, calls.length > 0);
  const { extra } = extraOf(typeof reasoning === "string" ? rest : { ...rest, reasoning });
  if (text.length > 0 || calls.length === 0 || extra !== undefined) {
    const spoken: Message = { type: "message", role: "assistant", parts: text };
    items.push({
      ...spoken,
      ...(typeof name === "string" ? { name } : {}),
      ...(extra === undefined ? {} : { extra }),
    });
  }
  return inPlace([...items, ...calls], sealed);
}

/** A thought that we sealed, and its place among all that the model said in its answer. */
type Sealed = { readonly thought: Reasoning; readonly index: number };

function splitDetails(details: readonly unknown[]): {
  readonly sealed: readonly Sealed[];
  readonly others: readonly unknown[];
} {
  const sealed: Sealed[] = [];
  const others = details.filter((raw) => {
    const { text, signature, data, index } = fieldsOf(raw) ?? {};
    const encrypted = isSeal(signature) ? signature : data;
    if (!isSeal(encrypted)) return true;
    const words = filledText(text);
    const summary = words === undefined ? [] : [words];
    const thought: Reasoning = { type: "reasoning", summary, content: [], encrypted };
    sealed.push({ thought, index: numberOf(index) ?? 0 });
    return false;
  });
  return { sealed, others };
}

/** Thoughts where they were thought: a message has one place for all of them, the model had not. */
function inPlace(items: readonly Item[], sealed: readonly Sealed[]): Item[] {
  const placed: Item[] = [];
  let next = 0;
  for (const { thought, index } of sealed) {
    while (placed.length < index && next < items.length)
      append(
        placed,
        [items[next++]].filter((item) => item !== undefined),
      );
    placed.push(thought);
  }
  append(placed, items.slice(next));
  return placed;
}

/** Beside calls an empty text means none. */
function readText(message: Fields, { path, repair }: Place, hasCalls: boolean): Part[] {
  const { content, refusal, annotations } = message;
  const isNone = content === undefined || content === null || (content === "" && hasCalls);
  const parts = isNone ? [] : readContent(content, `${path}.content`, repair);
  if (typeof refusal === "string") parts.push({ type: "refusal", text: refusal });
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

function readCall(raw: unknown, path: string): Call {
  const { id, type, function: called, custom, ...rest } = shaped(callSchema, raw, path);
  if (custom != null && (type === "custom" || called == null)) {
    const { name, namespace, input, ...inner } = custom;
    return {
      type: "call",
      id,
      kind: "custom",
      name: clientName(name),
      input: input ?? "",
      ...inNamespace(filledText(namespace)),
      ...extraOf({ ...rest, custom: unlessEmpty(inner) }),
    };
  }
  if (called == null)
    throw invalid(`${path}.function`, "must be an object with `name` and `arguments`");
  const { name, namespace, arguments: input, ...inner } = called;
  return {
    type: "call",
    id,
    kind: "function",
    name: clientName(name),
    input: input ?? "",
    ...inNamespace(filledText(namespace)),
    ...extraOf({ ...rest, function: unlessEmpty(inner) }),
  };
}

const unlessEmpty = (fields: Fields): Fields | undefined =>
  Object.keys(fields).length === 0 ? undefined : fields;

function readLegacyCall(raw: unknown, path: string, at: number): Call {
  const { name, arguments: input } = shaped(legacyCallSchema, raw, path);
  const id = legacyId(at);
  return { type: "call", id, kind: "function", name: clientName(name), input: input ?? "" };
}

/** The old form has no ids; the place in the conversation does not change from turn to turn. */
const legacyId = (at: number): string => `call_${at}`;

function readResult(content: unknown, path: string, repair: Repair): Part[] {
  if (content === undefined || content === null) return [];
  return readContent(content, `${path}.content`, repair);
}

/** What is read here and not by the table of parameters. */
const own = new Set([
  "model",
  "messages",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "stream",
  "stream_options",
  "logprobs",
]);

/** Reads a Chat Completions request as a turn; a Fault names the field that is wrong. */
export function readRequest(body: Fields): Turn {
  const model = readModel(body.model);
  if (body.messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  const { messages, stream, stream_options, logprobs } = shaped(bodySchema, body, "");
  const { params, extra } = readParams(chatTraits, body, own);
  const { include_usage, ...options } = stream_options ?? {};
  if (include_usage != null && typeof include_usage !== "boolean")
    throw invalid("stream_options.include_usage", "must be true or false");
  const repairs = collectRepairs();
  for (const name of oldFields(body)) repairs.add(name, "chat has tools now");
  const { items, places } = readMessages(messages, repairs.add);
  const idle = idleFields(body);
  for (const name of idle) repairs.add(name, "it means nothing without tools");
  const tools = readTools(body.tools, body.functions);
  repairs.include(tools.repairs);
  const toolChoice = idle.includes("tool_choice")
    ? undefined
    : readToolChoice(body.tool_choice, body.function_call, repairs.add);
  return {
    dialect: "chat",
    traits: chatTraits,
    model,
    items,
    places,
    tools: tools.tools,
    toolChoice,
    format: readFormat(body.response_format),
    params: {
      ...(logprobs === true && { logprobs: 0 }),
      ...params,
      ...(idle.includes("parallel_tool_calls") && { parallelCalls: undefined }),
      // The old form has room for one call.
      ...(declaresFunctions(body) && { parallelCalls: false }),
    },
    stream: stream === true,
    usageWanted: include_usage === true,
    extra: {
      dialect: "chat",
      // They mean nothing without a stream, and upstreams refuse them then.
      fields:
        stream === true && Object.keys(options).length > 0
          ? { ...extra, stream_options: options }
          : extra,
    },
    repairs: repairs.decisions(),
    body,
  };
}
