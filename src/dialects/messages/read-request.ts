/** Reads Messages requests as turns. */

import { isFields } from "../../json/json.ts";
import type { Extra, Fields, Item, Params, Tool, Turn } from "../../turn/turn.ts";
import type { RequestHeaders } from "../dialect.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";
import { readModel } from "../shared/model.ts";
import { readParams } from "../shared/params.ts";
import { collectRepairs } from "../shared/repairs.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { responsesDoor } from "../responses/route.ts";
import { readChoice } from "./choice.ts";
import { readParts } from "./content-parts.ts";
import { readFormat } from "./format.ts";
import { readMessages, type KindOfTool } from "./read-messages.ts";
import { bodySchema, groupSchema } from "./schema.ts";
import { readTier } from "./service-tier.ts";
import { effortIn, readThinking } from "./thinking.ts";
import { readTools } from "./tools.ts";
import { messagesTraits } from "./traits.ts";

/** What is read here and not by the table of parameters. */
const own = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "output_format",
  "output_config.format",
  "stream",
]);

/** A thread that the gateway keeps is none to its upstream. */
const threadBeta = /(?:^|,)\s*message-threads-[\w-]+(?=\s*(?:,|$))/g;

/** Names of headers that say something of the request. */
const headerNames = ["anthropic-version", "anthropic-beta"];

export function readRequest(body: Fields, _path?: unknown, headers?: RequestHeaders): Turn {
  const model = readModel(body.model);
  if (body.messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  const { messages, stream } = shaped(bodySchema, body, "");
  // An upstream that keeps a thread also goes on with it where nothing is added.
  if (messages.length === 0 && body.thread == null)
    throw invalid("messages", "must hold at least one message");
  const { params, extra } = readParams(messagesTraits, body, own);
  const tools = readTools(body.tools, () => loadedBy(messages));
  const kindOfTool = kindsOf(tools);
  const { items, places } = readMessages(messages, kindOfTool);
  const system = readSystem(body.system);
  const { choice, parallel } = readChoice(body.tool_choice, kindOfTool);
  const repairs = collectRepairs();
  const format = readFormats(body, repairs.add);
  const said = headersSaid(headers, body);
  return {
    dialect: "messages",
    traits: messagesTraits,
    model,
    items: system === undefined ? items : [system, ...items],
    places: system === undefined ? places : [0, ...places],
    tools,
    toolChoice: choice,
    format,
    params: {
      ...readThinking(params, effortIn(messages)),
      ...readTier(params.serviceTier),
      ...(parallel === false && { parallelCalls: false }),
    } satisfies Params,
    stream: stream === true,
    usageWanted: true,
    extra: withHints(extra, body),
    repairs: repairs.decisions(),
    body,
    ...(said !== undefined && { headers: said }),
  };
}

function readSystem(system: unknown): Item | undefined {
  if (system === undefined || system === null || system === "") return undefined;
  const parts = readParts(system, "system");
  if (parts.length === 0) return undefined;
  return { type: "message", role: "system", parts, instructions: true };
}

function readFormats(body: Fields, repair: (path: string, reason: string) => void) {
  const config = shaped(groupSchema, body.output_config, "output_config");
  if (config?.format != null || body.output_format == null)
    return readFormat(config?.format, "output_config.format");
  repair("output_format", "it has moved to `output_config.format`");
  return readFormat(body.output_format, "output_format");
}

/** The kind of each tool that is declared by its type; calls name the tool alone. */
function kindsOf(tools: readonly Tool[]): KindOfTool {
  const kinds = new Map<string, string>();
  for (const tool of tools) if (tool.type === "builtin") kinds.set(tool.name, tool.kind);
  return (name) => kinds.get(name) ?? "function";
}

/** The tools that results and system messages of the conversation have brought up. */
function loadedBy(messages: readonly unknown[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const visit = (value: unknown): void => {
    for (const raw of listOf(value) ?? []) {
      const block = fieldsOf(raw);
      const named = filledText(block?.tool_name) ?? filledText(fieldsOf(block?.tool)?.name);
      if (block?.type === "tool_reference" && named !== undefined) loaded.add(named);
      if (block?.type === "tool_addition" && named !== undefined) loaded.add(named);
      if (block?.type === "tool_removal" && named !== undefined) loaded.delete(named);
      if (block?.type === "tool_result") visit(block.content);
      if (block?.type === "tool_search_tool_result")
        visit(fieldsOf(block.content)?.tool_references);
    }
  };
  for (const message of messages) visit(fieldsOf(message)?.content);
  return loaded;
}

/** Fields that bear on cost, speed or what the provider makes of them for itself. */
const hints: ReadonlySet<string> = new Set(["cache_control", "speed", "diagnostics", "safeguards"]);

function withHints(extra: Fields, body: Fields): Extra {
  const fields: Record<string, unknown> = { ...extra };
  const aside: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(extra)) {
    if (!hints.has(key) && !(key === "context_management" && keepsAll(value))) continue;
    delete fields[key];
    if (value !== null) aside[key] = value;
  }
  const display = fieldsOf(body.thinking)?.display;
  if (display != null) aside.thinking = { display };
  return {
    dialect: "messages",
    fields,
    ...(Object.keys(aside).length > 0 && { hints: aside }),
  };
}

/** Whether nothing of the conversation is to be left out, as is the rule anyway. */
const keepsAll = (value: unknown): boolean => {
  const edits = listOf(fieldsOf(value)?.edits) ?? [];
  return edits.every((edit) => {
    if (!isFields(edit) || !String(edit.type).startsWith("clear_thinking")) return false;
    return edit.keep === "all" || edit.keep === undefined;
  });
};

function headersSaid(
  headers: RequestHeaders | undefined,
  body: Fields,
): Record<string, string> | undefined {
  let said: Record<string, string> | undefined;
  for (const name of headerNames) {
    const value = headers?.[name];
    const all = typeof value === "string" ? value : value?.join(",");
    const text = body.thread == null ? all?.replace(threadBeta, "") : all;
    if (text !== undefined && text !== "") (said ??= {})[name] = text;
  }
  return said;
}
