import { z } from "zod";
import { groupOf } from "../../turn/item-ids.ts";
import { type AnyName, clientName } from "../../turn/names.ts";
import type {
  Call,
  Fields,
  Item,
  Message,
  Opaque,
  Reasoning,
  Result,
  ToolDeclarations,
} from "../../turn/turn.ts";
import { jsonOf } from "../../json/json.ts";
import { given, inputText } from "../shared/loose.ts";
import { readItemTools } from "../shared/read-tool.ts";
import { invalid, shaped } from "../shared/shape.ts";
import type { Repair } from "../shared/repairs.ts";
import { extraOf, ownExtra, readStatus, type Report, silently, statusKey } from "./fields.ts";
import {
  type CallKind,
  canRun,
  isHosted,
  kindOf,
  kindOfCall,
  kindOfResult,
  valueOf,
} from "./kinds.ts";
import { OTHER_PARTS, readContent, writeContent, writeOutputPart } from "./input-parts.ts";
import { toolForm, writeItemTools } from "./tools.ts";

/** Calls of the client's tools as output items. */
const id = z.string().nullish();
const callItem = z.looseObject({ id, call_id: z.string(), namespace: z.string().nullish() });
const resultItem = z.looseObject({ id, call_id: z.string().nullish() });
const name = z.string().min(1);
const text = z.string();
/** Taken as it is: a copy would lose a key such as `__proto__`. */
const value = z.custom<string | object>(
  (value) => typeof value === "string" || (typeof value === "object" && value !== null),
  { error: "must be an object, an array or a string" },
);

/** Where an item stands in the request, and what records repairs of it. */
type FieldContext = { readonly path: string; readonly repair: Repair };

function readCall(kind: CallKind, raw: Fields, path: string): Call {
  const { id: itemId, call_id: callId, namespace } = shaped(callItem, raw, path);
  const isNamed = kind.wrap === undefined;
  const called = isNamed ? shaped(name, raw.name, `${path}.name`) : kind.kind;
  const input = shaped(isNamed ? text : value, raw[kind.input], `${path}.${kind.input}`);
  const known = ["type", "id", "call_id", "namespace", kind.input, ...statusKey(raw)];
  return {
    type: "call",
    id: callId,
    kind: kind.kind,
    name: clientName(called),
    input: inputText(input),
    ...given({ namespace, itemId }),
    ...readStatus(raw),
    ...extraOf(raw, isNamed ? [...known, "name"] : known),
  };
}

function readResult(kind: CallKind, raw: Fields, { path, repair }: FieldContext): Item {
  const { id: itemId, call_id: callId } = shaped(resultItem, raw, path);
  const call = callId ?? (kind.kind === "local_shell" ? itemId : undefined);
  if (call == null) {
    // The result of a function that runs on its own is paired by name.
    if (typeof raw.name === "string") return { type: "opaque", dialect: "responses", raw };
    throw invalid(`${path}.call_id`, "must be the `call_id` of the call it answers");
  }
  const known = ["type", "id", "call_id", kind.output, ...statusKey(raw)];
  return {
    type: "result",
    call,
    kind: kind.kind,
    parts: readOutput(kind, raw[kind.output], { path: `${path}.${kind.output}`, repair }),
    ...given({
      declares: kind.kind === "tool_search" ? declared(raw.tools, path) : undefined,
      itemId: callId == null ? undefined : itemId,
    }),
    ...readStatus(raw),
    ...extraOf(raw, kind.keeps ? known.filter((key) => !kind.keeps?.includes(key)) : known),
  };
}

/** The tools that a search has found. */
const declared = (tools: unknown, path: string): ToolDeclarations | undefined =>
  Array.isArray(tools) ? readItemTools(tools, `${path}.tools`, toolForm) : undefined;

function readOutput(kind: CallKind, raw: unknown, { path, repair }: FieldContext): Result["parts"] {
  switch (kind.outputForm) {
    case "parts":
      return readContent(raw, path, repair);
    case "text": {
      const value = shaped(text.nullish(), raw, path);
      return value == null ? [] : [{ type: "text", text: value }];
    }
    case "value":
      return [{ type: "text", text: inputText(shaped(value, raw, path)) }];
    default:
      return kind.outputForm satisfies never;
  }
}

function writeCall<Name extends AnyName>(item: Call<Name>, report: Report): Fields {
  const kind = kindOf(item.kind);
  return {
    ...ownExtra(item.extra, report),
    type: kind.call,
    id: item.itemId,
    call_id: item.id,
    ...(kind.wrap === undefined && { name: item.name }),
    ...given({ namespace: item.namespace }),
    [kind.input]: valueOf(kind, item.input),
    ...given({ status: item.status }),
  };
}

/**
 * A call in an answer; undefined if it was cut off and what there is of it could
 * be run. Clients run what they are given, whatever its status says.
 */
function writeOutputCall<Name extends AnyName>(
  item: Call<Name>,
  itemId: string,
): Fields | undefined {
  const kind = kindOf(item.kind);
  const status = item.status ?? "completed";
  if (status === "incomplete" && canRun(kind, item.input)) return undefined;
  // An item that came as one has what its upstream thinks usual.
  const usual = item.itemId === undefined ? kind.usual : undefined;
  return { ...usual, ...writeCall({ ...item, itemId, status }, silently) };
}

function writeResult(item: Result, report: Report): Fields {
  const kind = kindOf(item.kind);
  const extra = ownExtra(item.extra, report);
  const named =
    kind.kind === "local_shell"
      ? given({ id: "call_id" in extra ? item.itemId : item.call })
      : { ...given({ id: item.itemId }), call_id: item.call };
  return {
    type: kind.result,
    ...named,
    ...kind.usualResult,
    ...(kind.output in extra ? {} : given({ [kind.output]: writeOutput(kind, item, report) })),
    ...given({ status: item.status }),
    ...extra,
  };
}

function writeOutput(kind: CallKind, { parts, declares }: Result, report: Report): unknown {
  switch (kind.outputForm) {
    case "parts": {
      const [first] = parts;
      const isPlain = parts.length === 1 && first?.type === "text" && first.extra === undefined;
      return isPlain ? first.text : writeContent(parts, "user", report);
    }
    case "text":
      return parts.length === 0 ? undefined : joinTexts(parts, report);
    case "value":
      if (declares !== undefined) return writeItemTools(declares.tools, report);
      return valueOutput(kind, joinTexts(parts, report));
    default:
      return kind.outputForm satisfies never;
  }
}

function joinTexts(parts: Result["parts"], report: Report): string {
  let text = "";
  for (const part of parts)
    if (part.type === "text" || part.type === "refusal") text += part.text;
    else report(`the result of such a call can only be text, and holds ${part.type}`);
  return text;
}

/** The outputs of commands, or the tools that were found: a list either way. */
function valueOutput(kind: CallKind, value: string): unknown {
  const list = jsonOf(value);
  if (Array.isArray(list)) return list;
  if (kind.kind !== "shell") return [];
  // Plain text, as a client of another dialect has it.
  return [{ stdout: value, stderr: "", outcome: { type: "exit", exit_code: 0 } }];
}

const anyItem = z.looseObject({ type: z.string().nullish() });
const messageItem = z.looseObject({
  role: z.enum(["user", "assistant", "system", "developer"]),
  id: z.string().nullish(),
  phase: z.string().nullish(),
});
const paragraphs = z.array(z.looseObject({ text: z.string() })).nullish();
const reasoningItem = z.looseObject({
  id: z.string().nullish(),
  summary: paragraphs,
  content: paragraphs,
  encrypted_content: z.string().nullish(),
});

/**
 * Reads an item of a request. What the client executes becomes a call or a
 * result of its kind; what we do not know stays whole.
 */
export function readItem(raw: unknown, place: FieldContext): Item {
  const { path } = place;
  const item = shaped(anyItem, raw, path);
  const type = item.type ?? ("role" in item ? "message" : undefined);
  if (type === "message") return readMessage(item, place);
  if (type === "reasoning") return readReasoning(item, place);
  if (type !== undefined && !isHosted(item)) {
    const call = kindOfCall(type);
    if (call !== undefined) return readCall(call, item, path);
    const result = kindOfResult(type);
    if (result !== undefined) return readResult(result, item, place);
  }
  // A bare id is a reference to an item.
  if (type === undefined && typeof item.id !== "string")
    throw invalid(`${path}.type`, 'must say what the item is, such as "message"');
  return { type: "opaque", dialect: "responses", raw: item, ...declaredIn(item, path) };
}

/** The tools in an item that is kept whole: declared behind the list, or found by a provider's search. */
function declaredIn(raw: Fields, path: string): Pick<Opaque, "declares"> {
  const { type, tools } = raw;
  const declares = type === "additional_tools" || type === "tool_search_output";
  if (!declares || !Array.isArray(tools)) return {};
  return { declares: readItemTools(tools, `${path}.tools`, toolForm) };
}

function readMessage(raw: Fields, { path, repair }: FieldContext): Message {
  const { role, id, phase } = shaped(messageItem, raw, path);
  return {
    type: "message",
    role,
    parts: readContent(raw.content, `${path}.content`, repair),
    ...given({ id, phase }),
    ...readStatus(raw),
    ...extraOf(raw, ["type", "role", "content", "id", "phase", ...statusKey(raw)]),
  };
}

function readReasoning(raw: Fields, { path, repair }: FieldContext): Reasoning {
  const { id, summary, content, encrypted_content: encrypted } = shaped(reasoningItem, raw, path);
  if (content?.some(({ type }) => type === "text") === true) repair(`${path}.content`, OTHER_PARTS);
  return {
    type: "reasoning",
    summary: summary?.map(({ text }) => text) ?? [],
    content: content?.map(({ text }) => text) ?? [],
    ...given({ id, encrypted }),
    ...readStatus(raw),
    ...extraOf(raw, ["type", "id", "summary", "content", "encrypted_content", ...statusKey(raw)]),
  };
}

/** Writes an item for a request; undefined if this dialect has no form for it. */
export function writeItem<Name extends AnyName>(
  item: Item<Name>,
  report: Report,
): Fields | undefined {
  switch (item.type) {
    case "message":
      return writeMessage(item, report);
    case "reasoning":
      return writeReasoning(item, report);
    case "call":
      return writeCall(item, report);
    case "result":
      return writeResult(item, report);
    case "opaque":
      if (item.dialect === "responses") return item.raw;
      report(`an item that only the ${item.dialect} dialect has`);
      return undefined;
    default:
      return item satisfies never;
  }
}

function writeMessage(item: Message, report: Report): Fields {
  if (item.name !== undefined) report("messages have no `name` in the responses dialect");
  return {
    type: "message",
    role: item.role,
    content: writeContent(item.parts, item.role, report),
    ...given({ id: item.id, status: item.status, phase: item.phase }),
    ...ownExtra(item.extra, report),
  };
}

function writeReasoning(item: Reasoning, report: Report): Fields {
  if (item.details !== undefined) report("the responses dialect has no `reasoning_details`");
  const content = item.content.map((text) => ({ type: "reasoning_text", text }));
  return {
    ...ownExtra(item.extra, report),
    type: "reasoning",
    id: item.id,
    summary: item.summary.map((text) => ({ type: "summary_text", text })),
    ...(content.length > 0 && { content }),
    encrypted_content: item.encrypted,
    ...given({ status: item.status }),
  };
}

/**
 * Writes an item of an answer, with every field that the strictest readers
 * want; undefined if it cannot be shown.
 */
export function writeOutputItem<Name extends AnyName>(
  item: Item<Name>,
  id: string,
): Fields | undefined {
  switch (item.type) {
    case "message":
      return {
        id,
        type: "message",
        status: item.status ?? "completed",
        role: "assistant",
        content: item.parts.map(writeOutputPart).filter((part) => part !== undefined),
        ...given({ phase: item.phase }),
        ...ownExtra(item.extra, silently),
      };
    case "reasoning": {
      // The API says of reasoning only that it is not whole.
      const status = item.status === "incomplete" ? item.status : undefined;
      return { ...writeReasoning({ ...item, status }, silently), id };
    }
    case "call":
      return writeOutputCall(item, id);
    case "result":
      return { ...writeResult(item, silently), id };
    case "opaque":
      return { ...item.raw, id };
    default:
      return item satisfies never;
  }
}

/** What the id of an output item begins with. */
export function idPrefix<Name extends AnyName>(item: Item<Name>): string {
  switch (item.type) {
    case "message":
      return "msg";
    case "reasoning":
      return "rs";
    case "call":
      return kindOf(item.kind).prefix;
    case "result":
    case "opaque":
      return "item";
    default:
      return item satisfies never;
  }
}

/** The id that an item came with. */
export function itemId<Name extends AnyName>(item: Item<Name>): string | undefined {
  if (item.type === "call" || item.type === "result") return item.itemId;
  if (item.type !== "opaque") return item.id;
  const { id } = item.raw;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/**
 * An item without the id that it was given where it was kept: an upstream has
 * never seen it, and the API refuses one that does not begin as it would itself.
 */
export function withoutMadeId<Name extends AnyName>(item: Item<Name>): Item<Name> {
  const made = itemId(item);
  if (made === undefined || groupOf(made) === undefined) return item;
  if (item.type === "call" || item.type === "result") return { ...item, itemId: undefined };
  if (item.type !== "opaque") return { ...item, id: undefined };
  const { id: _, ...raw } = item.raw;
  return { ...item, raw };
}
