import * as chat from "../../src/dialects/chat/read-request.ts";
import * as responses from "../../src/dialects/responses/read-request.ts";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { Plan } from "../../src/tools/plan/plan.ts";
import { CallRestorer } from "../../src/tools/plan/restore.ts";
import type { Decision } from "../../src/turn/decision.ts";
import type { DialectTraits } from "../../src/turn/dialect-traits.ts";
import type { CallStart, TurnEvent } from "../../src/turn/event.ts";
import {
  clientName,
  upstreamName,
  type ClientName,
  type UpstreamName,
} from "../../src/turn/names.ts";
import type { HistoryRule, Profile } from "../../src/turn/profile.ts";
import type {
  BuiltinTool,
  Call,
  CustomTool,
  Fields,
  FunctionTool,
  Item,
  JsonSchema,
  Message,
  NamespaceTool,
  Part,
  Result,
  Tool,
  Turn,
} from "../../src/turn/turn.ts";

/** A request of a client of the Responses API, as short as one can be. */
export const ask = (turn: Partial<Turn>): Turn => ({
  dialect: "responses",
  traits: traitsOf(turn.dialect ?? "responses"),
  model: "m",
  items: [],
  tools: [],
  params: {},
  stream: true,
  usageWanted: true,
  extra: { dialect: "responses", fields: {} },
  body: {},
  ...turn,
});

/** Items as the Responses API reads them. */
export const readItems = (...input: readonly unknown[]): readonly Item[] =>
  responses.readRequest({ model: "m", input }).items;

/** An item that brings tools, as the Responses API reads it. */
export function carrier(type: string, tools: readonly unknown[]): Item {
  const [item] = readItems({ type, role: "developer", tools });
  if (item === undefined) throw new Error("nothing was read");
  return item;
}

/** Tools as chat reads them. */
export const chatTools = (...tools: readonly unknown[]): readonly Tool[] =>
  chat.readRequest({ model: "m", messages: [{ role: "user", content: "Hi" }], tools }).tools;

export function traitsOf(dialect: string): DialectTraits {
  const known = builtinDialects.get(dialect);
  if (known === undefined) throw new Error(`there is no dialect ${dialect}`);
  return known.traits;
}

/** An upstream that has functions, and a function for whatever a client can run. */
export const plain: Profile = {
  name: "plain",
  dialect: "chat",
  tools: {
    kinds: {
      function: "native",
      web_search: "ignore",
      file_search: "ignore",
      mcp: "ignore",
      code_interpreter: "ignore",
      computer_use: "ignore",
      image_generation: "ignore",
      "*": "degrade",
    },
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "reasoning_content",
  streamUsage: true,
};

export const withTools = (tools: Partial<Profile["tools"]>, base = plain): Profile => ({
  ...base,
  tools: { ...base.tools, ...tools },
});
export const withHistory = (history: HistoryRule, base = plain): Profile => ({ ...base, history });

/** An upstream that knows every kind there is. */
export const whole: Profile = {
  ...withTools({
    kinds: { "*": "native" },
    namespaces: true,
    choice: [...plain.tools.choice, "allowed"],
    names: { chars: "\\s\\S", max: 1000 },
  }),
  name: "whole",
  dialect: "responses",
};

export const fn = (name: string, schema?: JsonSchema): FunctionTool => ({
  type: "function",
  name: clientName(name),
  ...(schema === undefined ? {} : { schema }),
});
export const custom = (name: string, format?: Fields): CustomTool => ({
  type: "custom",
  name: clientName(name),
  ...(format === undefined ? {} : { format }),
});
export const builtin = (kind: string, raw: Fields = {}): BuiltinTool => ({
  type: "builtin",
  kind,
  name: clientName(kind),
  dialect: "responses",
  raw: { type: kind, ...raw },
});
export const namespace = (
  name: string,
  tools: NamespaceTool["tools"],
  description?: string,
): NamespaceTool => ({ type: "namespace", name, description, tools });

export const said = (text: string): readonly Part[] => [{ type: "text", text }];
export const message = (role: Message["role"], text: string): Message => ({
  type: "message",
  role,
  parts: said(text),
});
export const called = (id: string, name = "look", more: Partial<Call> = {}): Call => ({
  type: "call",
  id,
  kind: "function",
  name: clientName(name),
  input: "{}",
  ...more,
});
export const result = (call: string, text = "done", more: Partial<Result> = {}): Result => ({
  type: "result",
  call,
  kind: "function",
  parts: said(text),
  ...more,
});

type Upstream = TurnEvent<UpstreamName>;

/** The events of one call, its input in the pieces given. */
export function calling(
  name: string,
  pieces: readonly string[],
  more: Partial<CallStart<UpstreamName>> & { readonly complete?: boolean } = {},
): Upstream[] {
  const { complete = true, ...rest } = more;
  const { choice = 0, call = 0 } = rest;
  return [
    {
      type: "call-start",
      choice,
      call,
      id: `call_${call}`,
      kind: "function",
      name: upstreamName(name),
      ...rest,
    },
    ...pieces.map((text): Upstream => ({ type: "call-delta", choice, call, text })),
    { type: "call-end", choice, call, complete },
  ];
}

/** What a client makes of an answer: its calls whole, and what was reported of it. */
export function restored(
  plan: Plan,
  events: readonly Upstream[],
): {
  calls: Partial<Call>[];
  deltas: string[];
  reports: Decision[];
  events: TurnEvent<ClientName>[];
} {
  const reports: Decision[] = [];
  const out = runStage(new CallRestorer(plan, (decision) => reports.push(decision)), events);
  const calls: (Partial<Call> & { input: string })[] = [];
  const deltas: string[] = [];
  for (const event of out) {
    if (event.type === "call-start") {
      const { kind, name, namespace: group, id } = event;
      calls[event.call] = {
        kind,
        name,
        id,
        input: "",
        ...(group === undefined ? {} : { namespace: group }),
      };
    }
    if (event.type === "call-delta") {
      deltas.push(event.text);
      const call = calls[event.call];
      if (call !== undefined) call.input += event.text;
    }
    if (event.type === "call-end" && !event.complete)
      Object.assign(calls[event.call] ?? {}, { status: "incomplete" });
  }
  return { calls, deltas, reports, events: out };
}

/** The name an upstream was told for a tool of the client's. */
export function sentName(plan: Plan, name: string, group?: string): string {
  const bound = plan.identity.byName(name, group);
  if (bound === undefined) throw new Error(`${name} is not offered`);
  return bound.upstream.name;
}

export const namesOf = (tools: readonly Tool<UpstreamName>[]): string[] =>
  tools.map((tool) => tool.name);
