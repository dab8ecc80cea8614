import { isFields, jsonOf } from "../../json/json.ts";
import { groupOf } from "../../turn/item-ids.ts";
import { type AnyName, clientName } from "../../turn/names.ts";
import type {
  Call,
  Extra,
  Fields,
  Item,
  Message,
  Part,
  Reasoning,
  Result,
  Role,
  Status,
  ToolDeclarations,
} from "../../turn/turn.ts";
import { type OnReason, ownExtra, reportForeign } from "../shared/content.ts";
import { fieldsOf, given, inputText, numberOf } from "../shared/loose.ts";
import { readContent, writeParts } from "../shared/openai-content.ts";
import { otherForm, responsesForm } from "../shared/openai-form.ts";
import { readItemTools, writeTool } from "../shared/openai-tools.ts";
import {
  fieldsAt,
  filledTextAt,
  invalid,
  optionalListAt,
  optionalTextAt,
  type Repair,
  textAt,
  wrongType,
} from "../shared/shape.ts";
import {
  type CallKind,
  callKindOf,
  canRun,
  isHosted,
  kindOfCall,
  kindOfResult,
  valueOf,
} from "./kinds.ts";

/** The path of an item in the request, and the recorder of its repairs. */
type FieldContext = { readonly path: string; readonly repair: Repair };

const roles = ["user", "assistant", "system", "developer"] as const;
const knownRoles: ReadonlySet<unknown> = new Set(roles);
const ROLES = `one of ${roles.map((role) => JSON.stringify(role)).join(", ")}`;

/** A value as text: some clients write it as JSON text. */
function valueTextAt(value: unknown, path: string): string {
  if (typeof value === "string" || (typeof value === "object" && value !== null))
    return inputText(value);
  throw invalid(path, "must be an object, an array or a string");
}

type Paragraph = Fields & { readonly text: string };

function paragraphsAt(value: unknown, path: string): readonly Paragraph[] {
  const list = optionalListAt(value, path);
  for (const [at, one] of list.entries()) {
    const where = `${path}[${at}]`;
    textAt(fieldsAt(one, where, "an object with `text`").text, `${where}.text`);
  }
  return list as readonly Paragraph[];
}

/**
 * Reads an item of a request. An item that the client executes becomes a call or a
 * result of its kind; an unknown item stays whole.
 */
export function readItem(item: unknown, place: FieldContext): Item {
  const { path } = place;
  const plain = plainMessage(item);
  if (plain !== undefined) return plain;
  if (!isFields(item)) throw wrongType(item, path, "an object");
  if (typeof item.type !== "string") optionalTextAt(item.type, `${path}.type`);
  const type = (item.type as string | null) ?? ("role" in item ? "message" : undefined);
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
  // Tools in an item that is kept whole are declared behind the list, or found by a provider's search.
  const declares = type === "additional_tools" || type === "tool_search_output";
  return {
    type: "opaque",
    dialect: "responses",
    raw: item,
    declares: declares ? declared(item.tools, path) : undefined,
  };
}

/** A message of a role and a text, as most clients send it; undefined for everything else. */
function plainMessage(raw: unknown): Message | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const fields = raw as Fields;
  for (const key in fields)
    if (key !== "role" && key !== "content" && (key !== "type" || fields.type !== "message"))
      return undefined;
  const { role, content } = fields;
  if (typeof content !== "string" || !knownRoles.has(role)) return undefined;
  return { type: "message", role: role as Role, parts: [{ type: "text", text: content }] };
}

const declared = (tools: unknown, path: string): ToolDeclarations | undefined =>
  Array.isArray(tools) ? readItemTools(tools, `${path}.tools`, responsesForm) : undefined;

const withStatus = (raw: Fields, known: readonly string[]): readonly string[] =>
  raw.status === null || isStatus(raw.status) ? [...known, "status"] : known;

const ofMessages = ["type", "role", "content", "id", "phase"];

function readMessage(raw: Fields, { path, repair }: FieldContext): Message {
  const { role, status } = raw;
  if (!knownRoles.has(role)) throw wrongType(role, `${path}.role`, ROLES);
  return {
    type: "message",
    role: role as Role,
    id: optionalTextAt(raw.id, `${path}.id`),
    phase: optionalTextAt(raw.phase, `${path}.phase`),
    parts: readContent(raw.content, `${path}.content`, responsesForm, repair),
    status: isStatus(status) ? status : undefined,
    extra: responsesExtra(raw, withStatus(raw, ofMessages)),
  };
}

const ofReasoning = ["type", "id", "summary", "content", "encrypted_content"];

function readReasoning(raw: Fields, { path, repair }: FieldContext): Reasoning {
  const { status } = raw;
  const id = optionalTextAt(raw.id, `${path}.id`);
  const summary = paragraphsAt(raw.summary, `${path}.summary`);
  const content = paragraphsAt(raw.content, `${path}.content`);
  if (content.some(({ type }) => type === "text"))
    repair(`${path}.content`, otherForm(responsesForm, "content parts"));
  return {
    type: "reasoning",
    id,
    summary: summary.map(({ text }) => text),
    content: content.map(({ text }) => text),
    encrypted: optionalTextAt(raw.encrypted_content, `${path}.encrypted_content`),
    status: isStatus(status) ? status : undefined,
    extra: responsesExtra(raw, withStatus(raw, ofReasoning)),
  };
}

function readCall(kind: CallKind, raw: Fields, path: string): Call {
  const { status } = raw;
  const itemId = optionalTextAt(raw.id, `${path}.id`);
  const id = textAt(raw.call_id, `${path}.call_id`);
  const namespace = optionalTextAt(raw.namespace, `${path}.namespace`);
  const isNamed = kind.wrap === undefined;
  const called = isNamed ? filledTextAt(raw.name, `${path}.name`) : kind.kind;
  const where = `${path}.${kind.input}`;
  const input = raw[kind.input];
  return {
    type: "call",
    id,
    kind: kind.kind,
    name: clientName(called),
    namespace,
    input: isNamed ? textAt(input, where) : valueTextAt(input, where),
    itemId,
    status: isStatus(status) ? status : undefined,
    extra: responsesExtra(raw, withStatus(raw, kind.ofCalls)),
  };
}

function readResult(kind: CallKind, raw: Fields, { path, repair }: FieldContext): Item {
  const { status } = raw;
  const itemId = optionalTextAt(raw.id, `${path}.id`);
  const callId = optionalTextAt(raw.call_id, `${path}.call_id`);
  const call = callId ?? (kind.kind === "local_shell" ? itemId : undefined);
  if (call === undefined) {
    // The result of a function that runs on its own is paired by name.
    if (typeof raw.name === "string") return { type: "opaque", dialect: "responses", raw };
    throw invalid(`${path}.call_id`, "must be the `call_id` of the call it answers");
  }
  return {
    type: "result",
    call,
    kind: kind.kind,
    parts: readOutput(kind, raw[kind.output], { path: `${path}.${kind.output}`, repair }),
    declares: kind.kind === "tool_search" ? declared(raw.tools, path) : undefined,
    itemId: callId === undefined ? undefined : itemId,
    status: isStatus(status) ? status : undefined,
    extra: responsesExtra(raw, withStatus(raw, kind.ofResults)),
  };
}

function readOutput(kind: CallKind, raw: unknown, { path, repair }: FieldContext): Result["parts"] {
  switch (kind.outputForm) {
    case "parts":
      return readContent(raw, path, responsesForm, repair);
    case "text": {
      const text = optionalTextAt(raw, path);
      return text === undefined ? [] : [{ type: "text", text }];
    }
    case "value":
      return [{ type: "text", text: valueTextAt(raw, path) }];
    default:
      return kind.outputForm satisfies never;
  }
}

/** Writes an item for a request; undefined if this dialect has no form for it. */
export function writeItem<Name extends AnyName>(
  item: Item<Name>,
  report: OnReason,
): Fields | undefined {
  switch (item.type) {
    case "message":
      if (item.name !== undefined) report("messages have no `name` in the responses dialect");
      return {
        type: "message",
        role: item.role,
        content: writeParts(item.parts, item.role, responsesForm, report),
        ...given({ id: item.id, status: item.status, phase: item.phase }),
        ...ownResponsesExtra(item.extra, report),
      };
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

function writeReasoning(item: Reasoning, report: OnReason): Fields {
  if (item.details !== undefined) report("the responses dialect has no `reasoning_details`");
  const content = item.content.map((text) => ({ type: "reasoning_text", text }));
  return {
    ...ownResponsesExtra(item.extra, report),
    type: "reasoning",
    id: item.id,
    summary: item.summary.map((text) => ({ type: "summary_text", text })),
    ...(content.length > 0 && { content }),
    encrypted_content: item.encrypted,
    ...given({ status: item.status }),
  };
}

function writeCall<Name extends AnyName>(item: OutputCall<Name>, report: OnReason): Fields {
  const kind = callKindOf(item.kind);
  return {
    ...ownResponsesExtra(item.extra, report),
    type: kind.call,
    id: item.itemId,
    call_id: item.id,
    ...(kind.wrap === undefined && { name: item.name }),
    ...given({ namespace: item.namespace }),
    [kind.input]: valueOf(kind, item.input),
    ...given({ status: item.status }),
  };
}

function writeResult(item: Result, report: OnReason): Fields {
  const kind = callKindOf(item.kind);
  const extra = ownResponsesExtra(item.extra, report);
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

function writeOutput(kind: CallKind, { parts, declares }: Result, report: OnReason): unknown {
  switch (kind.outputForm) {
    case "parts": {
      const [first] = parts;
      const isPlain = parts.length === 1 && first?.type === "text" && first.extra === undefined;
      return isPlain ? first.text : writeParts(parts, "user", responsesForm, report);
    }
    case "text":
      return parts.length === 0 ? undefined : joinTexts(parts, report);
    case "value": {
      if (declares !== undefined)
        return declares.tools.flatMap(
          (tool) => writeTool(tool, { form: responsesForm, report }) ?? [],
        );
      // The outputs of commands, or the tools that were found: a list either way.
      const text = joinTexts(parts, report);
      const list = jsonOf(text);
      if (Array.isArray(list)) return list;
      // Plain text, as a client of another dialect has it.
      const plain = { stdout: text, stderr: "", outcome: { type: "exit", exit_code: 0 } };
      return kind.kind === "shell" ? [plain] : [];
    }
    default:
      return kind.outputForm satisfies never;
  }
}

function joinTexts(parts: Result["parts"], report: OnReason): string {
  let text = "";
  for (const part of parts)
    if (part.type === "text" || part.type === "refusal") text += part.text;
    else report(`the result of such a call can only be text, and holds ${part.type}`);
  return text;
}

/**
 * Writes an item of an answer as JSON text, with every field that the strictest readers
 * require; undefined if it cannot be shown. A truncated call is not shown if its input could be
 * run, because clients run every call that they receive, whatever its status.
 */
export function outputItemText<Name extends AnyName>(
  item: Item<Name>,
  id: string,
): string | undefined {
  switch (item.type) {
    case "message": {
      const parts = item.parts.map(writeOutputPart).filter((part) => part !== undefined);
      return messageText(item, id, JSON.stringify(parts).slice(1, -1));
    }
    case "reasoning": {
      // The API has a status of reasoning only if it is incomplete.
      const status = item.status === "incomplete" ? item.status : undefined;
      return JSON.stringify({ ...writeReasoning({ ...item, status }, silently), id });
    }
    case "call":
      return item.status === "incomplete" && canRun(callKindOf(item.kind), item.input)
        ? undefined
        : callText(item, id);
    case "result":
      return JSON.stringify({ ...writeResult(item, silently), id });
    case "opaque":
      return JSON.stringify({ ...item.raw, id });
    default:
      return item satisfies never;
  }
}

/** A message of an answer; `parts`: its content as JSON text without brackets. */
export function messageText(
  { status = "completed", phase, extra }: Pick<Message, "status" | "phase" | "extra">,
  id: string,
  parts: string,
): string {
  const phaseField = phase === undefined ? "" : `,"phase":${JSON.stringify(phase)}`;
  const own = ownResponsesExtra(extra, silently);
  const more = extra === undefined ? "" : JSON.stringify(own).slice(1, -1);
  return `{"id":${JSON.stringify(id)},"type":"message","status":"${status}","role":"assistant","content":[${parts}]${phaseField}${more === "" ? "" : `,${more}`}}`;
}

type OutputCall<Name extends AnyName> = Omit<Call<Name>, "type">;

/** A call of an answer; `input`: its input as JSON text, if the caller has it. */
export function callText<Name extends AnyName>(
  call: OutputCall<Name>,
  id: string,
  input?: string,
): string {
  const kind = callKindOf(call.kind);
  const { namespace, itemId, status = "completed", extra } = call;
  if (kind.wrap !== undefined || extra !== undefined) {
    // An item that came as one has the fields that its upstream thinks usual.
    const usual = itemId === undefined ? kind.usual : undefined;
    return JSON.stringify({ ...usual, ...writeCall({ ...call, itemId: id, status }, silently) });
  }
  const space = namespace === undefined ? "" : `"namespace":${JSON.stringify(namespace)},`;
  return `{"type":"${kind.call}","id":${JSON.stringify(id)},"call_id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)},${space}"${kind.input}":${input ?? JSON.stringify(call.input)},"status":"${status}"}`;
}

export function itemIdPrefix<Name extends AnyName>(item: Item<Name>): string {
  if (item.type === "call") return callKindOf(item.kind).prefix;
  return item.type === "message" ? "msg" : item.type === "reasoning" ? "rs" : "item";
}

export function itemId<Name extends AnyName>(item: Item<Name>): string | undefined {
  if (item.type === "call" || item.type === "result") return item.itemId;
  if (item.type !== "opaque") return item.id;
  const { id } = item.raw;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/**
 * An item without the id that it was given for the store: an upstream has
 * never seen it, and the API refuses one that does not begin as its own ids do.
 */
export function withoutMadeId<Name extends AnyName>(item: Item<Name>): Item<Name> {
  const made = itemId(item);
  if (made === undefined || groupOf(made) === undefined) return item;
  if (item.type === "call" || item.type === "result") return { ...item, itemId: undefined };
  if (item.type !== "opaque") return { ...item, id: undefined };
  const { id: _, ...raw } = item.raw;
  return { ...item, raw };
}

/**
 * Removes fields that the API refuses from past text: the citation in an annotation that was made
 * of one, and, for clients of other dialects, annotations of types that the API does not have.
 */
export function withKnownAnnotations(
  parts: readonly Part[],
  isOwn: boolean,
  report: OnReason,
): readonly Part[] {
  return parts.map((part) => {
    if (part.type !== "text" || part.annotations === undefined) return part;
    const annotations = part.annotations.flatMap((one) => {
      const known = isOwn ? one : writeResponsesAnnotation(one);
      return known === undefined ? [] : [withoutCitation(known)];
    });
    if (annotations.length < part.annotations.length)
      report("the responses dialect has no such annotation");
    return { ...part, annotations };
  });
}

function withoutCitation(annotation: unknown): unknown {
  const fields = fieldsOf(annotation);
  if (fields?.citation === undefined) return annotation;
  const { citation: _, ...known } = fields;
  return known;
}

/** A part of an answer, with every field that readers of answers want. */
function writeOutputPart(part: Part): Fields | undefined {
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  if (part.type !== "text") return undefined;
  return {
    type: "output_text",
    text: part.text,
    annotations: (part.annotations ?? []).flatMap((one) => writeResponsesAnnotation(one) ?? []),
    logprobs: writeLogprobs(part.logprobs),
  };
}

const annotationTypes = new Set<unknown>([
  "url_citation",
  "file_citation",
  "container_file_citation",
  "file_path",
]);

/** The API has these annotations and no others, and its readers want every field of a citation. */
export function writeResponsesAnnotation(annotation: unknown): Fields | undefined {
  const fields = fieldsOf(annotation);
  if (fields === undefined || !annotationTypes.has(fields.type)) return undefined;
  if (fields.type !== "url_citation") return fields;
  const { url, title, start_index: start, end_index: end } = fields;
  if (typeof url !== "string") return undefined;
  return {
    ...fields,
    title: typeof title === "string" ? title : url,
    start_index: numberOf(start) ?? 0,
    end_index: numberOf(end) ?? 0,
  };
}

/** True if the annotation can be shown unchanged. */
export function isOwnAnnotation(annotation: unknown): boolean {
  const fields = fieldsOf(annotation);
  const shown = writeResponsesAnnotation(annotation);
  return (
    shown !== undefined &&
    ["title", "start_index", "end_index"].every((key) => shown[key] === fields?.[key])
  );
}

/** Chat may leave out the bytes and alternatives that Responses requires. */
export const writeLogprobs = (logprobs: readonly unknown[] | undefined): readonly unknown[] =>
  logprobs?.map((entry) => withBytes(entry, { top_logprobs: [] })) ?? [];

function withBytes(entry: unknown, blank: Fields): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  const fields = entry as Fields;
  const { top_logprobs: others } = fields;
  return {
    ...blank,
    ...fields,
    bytes: fields.bytes ?? [],
    ...(Array.isArray(others) && { top_logprobs: others.map((other) => withBytes(other, {})) }),
  };
}

/** For answers: their content was read in this dialect or made for it. */
export const silently: OnReason = () => {};

/** The unknown fields of a part or item. */
export function responsesExtra(raw: Fields, known: readonly string[]): Extra | undefined {
  let fields: Record<string, unknown> | undefined;
  for (const key in raw)
    if (!known.includes(key) && raw[key] !== undefined) (fields ??= {})[key] = raw[key];
  return fields && { dialect: "responses", fields };
}

/** The extra fields of this dialect; those of another are reported. */
function ownResponsesExtra(extra: Extra | undefined, report: OnReason): Fields {
  reportForeign(extra, "responses", report);
  return ownExtra(extra, "responses");
}

/** A status that a turn has no word for, such as `failed`, stays among the extra fields. */
export const isStatus = (value: unknown): value is Status =>
  value === "in_progress" || value === "completed" || value === "incomplete";
