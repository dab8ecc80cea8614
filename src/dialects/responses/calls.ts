/** Calls of the client's tools as output items. */

import { z } from "zod";
import { jsonOf } from "../../json/json.ts";
import { clientName, type AnyName } from "../../turn/names.ts";
import type { Call, Fields, Item, Result, ToolDeclarations } from "../../turn/turn.ts";
import { given, inputText } from "../shared/loose.ts";
import type { Repair } from "../shared/repairs.ts";
import { readItemTools } from "../shared/read-tool.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { extraOf, ownExtra, readStatus, silently, statusKey, type Report } from "./fields.ts";
import { canRun, kindOf, valueOf, type CallKind } from "./kinds.ts";
import { readContent, writeContent } from "./input-parts.ts";
import { toolForm, writeItemTools } from "./tools.ts";

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
export type FieldContext = { readonly path: string; readonly repair: Repair };

export function readCall(kind: CallKind, raw: Fields, path: string): Call {
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

export function readResult(kind: CallKind, raw: Fields, { path, repair }: FieldContext): Item {
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

export function writeCall<Name extends AnyName>(item: Call<Name>, report: Report): Fields {
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
export function writeOutputCall<Name extends AnyName>(
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

export function writeResult(item: Result, report: Report): Fields {
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
