import { append } from "../../turn/append.ts";
import { standIns } from "../../dialects/registry.ts";
import { writeExtra, writeParams } from "../../dialects/shared/params.ts";
import { fieldsOf, filledText, listOf } from "../../dialects/shared/loose.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { isBySystem } from "../../turn/item.ts";
import { itemPath } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Item, Message, Part, Result, Turn } from "../../turn/turn.ts";
import { ERROR_IN_TEXT, withErrorText } from "../../dialects/shared/content.ts";
import { isWithin } from "../../json/json.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";

const letters: Readonly<Record<string, string>> = { L: "low", M: "medium", H: "high", XH: "xhigh" };

/** A model's name may end in its reasoning effort: `gpt-5.5-H`, `gpt-5.5-high`. */
export function modelAndEffort(name: string): {
  readonly model: string;
  readonly effort?: string | undefined;
} {
  const [, model, effort] = /^(.+)-(low|medium|high|xhigh|L|M|H|XH)$/s.exec(name) ?? [];
  if (model === undefined || effort === undefined) return { model: name };
  return { model, effort: letters[effort] ?? effort };
}

/** One turn as requests to the app-server. */
export type CodexRequest = {
  readonly model: string;
  /** Params of `thread/start` that depend on the turn. */
  readonly thread: Fields;
  /** The conversation so far, for `thread/inject_items`. */
  readonly items: readonly Fields[];
  /** Params of `turn/start`. */
  readonly options: Fields;
  readonly decisions: readonly Decision[];
};

const MUST_CALL = "Answer by calling at least one of the tools.";
const REQUIRED_IN_WORDS = "Codex cannot force a call, so the instructions ask the model for one";

/** Writes a turn for Codex. */
export function writeCodexRequest(
  turn: Turn<UpstreamName>,
  name: string,
  profile: Profile,
): CodexRequest {
  const { fields, decisions } = writeParams(turn, standIns.codex, profile);
  requireMatch(turn);
  const { model, effort } = modelAndEffort(name);
  const { items, base } = writeHistory(turn, decisions);
  const tools = dynamicTools(turn, decisions);
  const developer =
    turn.toolChoice?.type === "required" && tools.length > 0 ? MUST_CALL : undefined;
  if (developer !== undefined)
    decisions.push({ path: turn.traits.toolChoice, action: "changed", reason: REQUIRED_IN_WORDS });
  const { include, verbosity, ...params } = fields;
  noteIncludes(include, decisions);
  append(decisions, writeExtra(turn, "codex", {}));
  return {
    model,
    thread: {
      model,
      // Empty, or Codex would add its own.
      baseInstructions: base ?? "",
      ...(developer !== undefined && { developerInstructions: developer }),
      ...(tools.length > 0 && { dynamicTools: tools }),
      ...(verbosity !== undefined && { config: { model_verbosity: verbosity } }),
    },
    items,
    options: {
      summary: "none",
      ...(effort !== undefined && { effort }),
      ...params,
      ...writeFormat(turn, decisions),
    },
    decisions,
  };
}

/**
 * Refuses results of which none belongs to a call: the conversation was lost, and
 * the model would answer something else.
 */
function requireMatch(turn: Turn<UpstreamName>): void {
  const sent = listOf(turn.body[turn.traits.conversation]) ?? [];
  const results = sent.map(fieldsOf).map((item) => (isResult(item) ? item : undefined));
  const at = results.findIndex((item) => item !== undefined);
  if (at < 0) return;
  // The turn has a result for each call by now, so only the body shows the client's results.
  const calls = turn.items.filter((item) => item.type === "call");
  const ids = new Set(calls.flatMap(({ id, itemId }) => [id, itemId ?? id]));
  const answers = (item: Fields | undefined): boolean =>
    // The old form has no ids.
    (item?.role === "function" && calls.length > 0) ||
    [item?.tool_call_id, item?.call_id, item?.id].some((id) => ids.has(filledText(id) ?? ""));
  if (results.some(answers)) return;
  throw new Fault(
    "request.invalid",
    "None of the tool results belongs to a call of the conversation. Send the calls they answer along with them.",
    {
      param: `${turn.traits.conversation}[${at}]`,
      upstreamCode: "tool_outputs_unmatched",
    },
  );
}

const isResult = (item: Fields | undefined): boolean =>
  item?.role === "tool" ||
  item?.role === "function" ||
  filledText(item?.type)?.endsWith("_call_output") === true;

function writeHistory(
  turn: Turn<UpstreamName>,
  decisions: Decision[],
): { readonly items: Fields[]; readonly base: string | undefined } {
  const base = instructionsOf(turn.items[0]);
  const items: Fields[] = [];
  for (const [at, item] of turn.items.entries()) {
    if (at === 0 && base !== undefined) continue;
    const written = writeCodexItem(item, (action, reason) =>
      decisions.push({ path: itemPath(turn, at), action, reason }),
    );
    if (written !== undefined) items.push(written);
  }
  return { items, base };
}

/** A leading system message of text becomes the base instructions, which Codex sends first. */
function instructionsOf(first: Item<UpstreamName> | undefined): string | undefined {
  if (first === undefined || !isBySystem(first)) return undefined;
  const texts = first.parts.map((part) => (part.type === "text" ? part.text : undefined));
  if (texts.some((text) => text === undefined) || texts.join("") === "") return undefined;
  return texts.join("");
}

/** Codex names the schema itself, and takes a description only within it. */
function writeFormat({ format, traits }: Turn<UpstreamName>, decisions: Decision[]): Fields {
  const decide = (action: Decision["action"], reason: string): void =>
    void decisions.push({ path: traits.format.path, action, reason });
  if (format?.type === "opaque") decide("dropped", "Codex has no such format");
  if (format?.type !== "schema") return {};
  if (!isReadable(format.schema))
    throw new Fault(
      "request.unsupported",
      `The schema of \`${traits.format.path}\` is nested deeper than Codex can read; make it flatter.`,
      { param: traits.format.path },
    );
  decide("renamed", "Codex gives the schema a name of its own");
  const { schema, description } = format;
  const hasRoom = typeof schema === "object" && schema.description === undefined;
  if (description === undefined || !hasRoom) return { outputSchema: schema };
  decide("reshaped", "the description is moved into the schema");
  return { outputSchema: { ...schema, description } };
}

/** Codex always asks for encrypted reasoning, and for nothing else. */
function noteIncludes(include: unknown, decisions: Decision[]): void {
  for (const one of Array.isArray(include) ? (include as unknown[]) : [])
    if (one !== "reasoning.encrypted_content")
      decisions.push({
        path: "include",
        action: "dropped",
        reason: `Codex cannot be asked for \`${String(one).slice(0, 60)}\``,
      });
}

/** Records what Codex cannot take of an item. */
type Decide = (action: "dropped" | "changed" | "reshaped", reason: string) => void;

/** An item as `thread/inject_items` takes it; undefined where Codex has no such item. */
export function writeCodexItem(item: Item<UpstreamName>, decide: Decide): Fields | undefined {
  switch (item.type) {
    case "message":
      return writeMessage(item, decide);
    case "reasoning": {
      const { summary, content, encrypted } = item;
      return {
        type: "reasoning",
        summary: summary.map((text) => ({ type: "summary_text", text })),
        ...(content.length > 0 && {
          content: content.map((text) => ({ type: "reasoning_text", text })),
        }),
        ...(encrypted !== undefined && { encrypted_content: encrypted }),
      };
    }
    case "call":
      return { type: "function_call", call_id: item.id, name: item.name, arguments: item.input };
    case "result": {
      const withError = withErrorText(item, () => decide("reshaped", ERROR_IN_TEXT));
      const output = writeOutput(withError, decide);
      return { type: "function_call_output", call_id: item.call, output };
    }
    case "opaque":
      decide("dropped", "Codex has no such item");
      return undefined;
    default:
      return item satisfies never;
  }
}

function writeMessage({ role, parts, phase }: Message, decide: Decide): Fields | undefined {
  const content = parts.map((part) => writePart(part, role === "assistant", decide));
  const written = content.filter((part) => part !== undefined);
  if (parts.length === 0) decide("dropped", "Codex takes no message without content");
  if (written.length === 0) return undefined;
  return {
    type: "message",
    // Codex drops messages of role `system` silently.
    role: role === "system" ? "developer" : role,
    content: written,
    ...(phase !== undefined && { phase }),
  };
}

function writeOutput({ parts }: Result, decide: Decide): unknown {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map((part) => writePart(part, false, decide)).filter((part) => part !== undefined);
}

function writePart(part: Part, isOutput: boolean, decide: Decide): Fields | undefined {
  switch (part.type) {
    case "text":
      return { type: isOutput ? "output_text" : "input_text", text: part.text };
    case "refusal":
      decide("changed", "Codex takes no refusals back, so this one is sent as text");
      return { type: isOutput ? "output_text" : "input_text", text: part.text };
    case "image":
      return writeImage(part, decide);
    case "file":
    case "audio":
    case "opaque":
      decide("dropped", `Codex takes no ${part.type === "opaque" ? "such" : part.type} content`);
      return undefined;
    default:
      return part satisfies never;
  }
}

function writeImage(
  { url, detail }: Extract<Part, { type: "image" }>,
  decide: Decide,
): Fields | undefined {
  if (url?.startsWith("data:") !== true) {
    decide("dropped", "Codex takes images only as data URLs");
    return { type: "input_text", text: "(Here was image that cannot be shown.)" };
  }
  if (detail === "low") decide("changed", "Codex has no low detail for images");
  const kept = detail === undefined || detail === "low" ? undefined : detail;
  return { type: "input_image", image_url: url, ...(kept !== undefined && { detail: kept }) };
}

/** A tool as `thread/start` takes it. Description and schema are required. */
type DynamicTool = {
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

/** Chat has a field for the function; Responses has its fields in the definition. */
function readFunction(definition: unknown): DynamicTool | undefined {
  const outer = fieldsOf(definition);
  const inner = fieldsOf(outer?.function) ?? outer;
  const type = outer?.type ?? (inner === outer ? undefined : "function");
  if (inner === undefined || type !== "function") return undefined;
  const name = filledText(inner.name);
  if (name === undefined) return undefined;
  const description = filledText(inner.description) ?? "";
  return {
    type: "function",
    name,
    description,
    inputSchema: fieldsOf(inner.parameters) ?? anyObject,
  };
}

/** The tools of a planned turn, which are all functions. */
function dynamicTools(
  { tools, toolChoice }: Turn<UpstreamName>,
  decisions: Decision[],
): DynamicTool[] {
  if (toolChoice?.type === "none") return [];
  const functions = tools
    .filter((tool) => tool.type === "function")
    .map(({ name, description, schema }) => {
      if (isReadable(schema)) return { name, description, type: "function", parameters: schema };
      const reason = `the schema of \`${name}\` is nested deeper than Codex can read, so it is left open`;
      decisions.push({ path: "tools", action: "changed", reason });
      return { name, description, type: "function" };
    });
  return buildDynamicTools(functions);
}

/** The deepest schema that Codex's JSON parser reads within a message; to a deeper one it does not reply. */
const MAX_DEPTH = 100;

const isReadable = (schema: unknown): boolean =>
  typeof schema !== "object" || schema === null || isShallow(schema);

const isShallow = memoizeByIdentity((schema: object): boolean => isWithin(schema, MAX_DEPTH));
