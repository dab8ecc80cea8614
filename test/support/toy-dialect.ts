import {
  clientName,
  Fault,
  upstreamName,
  type Dialect,
  type DialectTraits,
  type DoorDialect,
  type Profile,
  type Turn,
  type TurnEvent,
  type UpstreamDialect,
  type UpstreamName,
} from "../../src/index.ts";

type Fields = Readonly<Record<string, unknown>>;
type Item = Turn["items"][number];

const traits: DialectTraits = {
  conversation: "lines",
  toolChoice: "tool_choice",
  format: { path: "shape" },
  params: { maxTokens: "limits.words", temperature: "heat" },
  nestsTools: false,
  strictFunctions: false,
  builtinsAsFunctions: true,
  sealsReasoning: false,
  endsCalls: true,
  callsInMessage: true,
  choices: 1,
};

const profile: Profile = {
  name: "generic-toy",
  dialect: "toy",
  tools: {
    kinds: { function: "native", "*": "degrade" },
    max: 16,
    names: { chars: "a-z_", max: 20 },
    choice: ["auto", "none", "required", "function"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: false,
  },
  params: {},
  formats: ["text", "schema"],
  reasoning: "none",
  streamUsage: true,
};

type Line =
  | { readonly by: "user" | "assistant" | "system"; readonly text: string }
  | { readonly call: ToyCall }
  | { readonly result: { readonly id: string; readonly text: string } };
type ToyCall = { readonly id?: string; readonly name: string; readonly input: string };
type Tool = { readonly name: string; readonly takes?: Fields };
type Request = {
  readonly lines: readonly Line[];
  readonly tools?: readonly Tool[];
  /** `none`, `any`, or the name of a tool. */
  readonly pick?: string;
  readonly shape?: Fields;
  readonly heat?: number;
  readonly count?: boolean;
};

function readLine(line: Line): Item {
  if ("call" in line) {
    const { id = "", name, input } = line.call;
    return { type: "call", id, kind: "function", name: clientName(name), input };
  }
  if ("result" in line) {
    const { id, text } = line.result;
    return { type: "result", call: id, kind: "function", parts: [{ type: "text", text }] };
  }
  return { type: "message", role: line.by, parts: [{ type: "text", text: line.text }] };
}

function readPick(pick: string | undefined): Turn["toolChoice"] {
  if (pick === undefined) return undefined;
  if (pick === "none") return { type: "none" };
  if (pick === "any") return { type: "required" };
  return { type: "tool", tool: { kind: "function", name: clientName(pick) } };
}

function readRequest(body: Fields, { model = "", verb = "" } = {}): Turn {
  const { lines, tools = [], pick, shape, heat, count = false } = body as Request;
  return {
    dialect: "toy",
    traits,
    model,
    items: lines.map(readLine),
    tools: tools.map(({ name, takes }) => ({
      type: "function",
      name: clientName(name),
      schema: takes,
    })),
    toolChoice: readPick(pick),
    format: shape === undefined ? undefined : { type: "schema", name: "shape", schema: shape },
    params: { temperature: heat },
    stream: verb === "stream",
    usageWanted: count,
    extra: { dialect: "toy", fields: {} },
    body,
  };
}

const frame = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;

/** Clients ask for `/toy/{model}:stream` or `:whole`, and nothing marks the end of a stream. */
const door: DoorDialect = {
  routes: ["/toy/{model}:{verb}"],
  isRequest: (body) => "lines" in body,
  readRequest,
  newAnswerId: (newId) => newId("toy"),
  endMarker: "",
  writeEvents({ usageWanted }) {
    const calls = new Map<number, { id: string; name: string; input: string }>();
    return {
      each(event, emit) {
        if (event.type === "reasoning-delta") emit(frame({ think: event.text }));
        if (event.type === "text-delta") emit(frame({ say: event.text }));
        if (event.type === "call-start")
          calls.set(event.call, { id: event.id, name: event.name, input: "" });
        const call = "call" in event ? calls.get(event.call) : undefined;
        if (event.type === "call-delta" && call !== undefined) call.input += event.text;
        if (event.type === "call-end" && event.complete) emit(frame({ call }));
        if (event.type === "usage" && usageWanted) emit(frame({ count: countOf(event.usage) }));
        if (event.type === "turn-end") emit(frame({ over: event.stop }));
        if (event.type === "turn-fail") emit(frame({ broke: event.fault.message }));
      },
    };
  },
  writeAnswer({ choices: [first], usage }, { usageWanted }) {
    const parts = (first?.items ?? []).flatMap((item): Fields[] => {
      if (item.type === "reasoning")
        return [...item.summary, ...item.content].map((think) => ({ think }));
      if (item.type === "call")
        return [{ call: { id: item.id, name: item.name, input: item.input } }];
      if (item.type !== "message") return [];
      return item.parts.map((part) => ({ say: "text" in part ? part.text : "" }));
    });
    const counts = usage !== undefined && usageWanted ? [{ count: countOf(usage) }] : [];
    return JSON.stringify([...parts, ...counts, { over: first?.stop }]);
  },
  writeError: (fault) => JSON.stringify({ broke: fault.message }),
};

const countOf = ({ input, output }: { readonly input: number; readonly output: number }) => ({
  read: input,
  written: output,
});

function writeLine(item: Turn<UpstreamName>["items"][number]): Line[] {
  if (item.type === "call") return [{ call: { id: item.id, name: item.name, input: item.input } }];
  if (item.type !== "message" && item.type !== "result") return [];
  const text = item.parts.map((part) => ("text" in part ? part.text : "")).join("");
  if (item.type === "result") return [{ result: { id: item.call, text } }];
  return [{ by: item.role === "developer" ? "system" : item.role, text }];
}

function pickOf(choice: Turn<UpstreamName>["toolChoice"]): string | undefined {
  if (choice?.type === "none") return "none";
  if (choice?.type === "tool") return choice.tool.name;
  return choice?.type === "required" ? "any" : undefined;
}

type Part = {
  readonly think?: string;
  readonly say?: string;
  readonly call?: ToyCall;
  readonly count?: { readonly read: number; readonly written: number };
  readonly over?: "end" | "calls" | "length" | "filter";
  readonly broke?: string;
};

/** The events of one part of an answer; `calls` counts the calls before it. */
function* readPart(part: Part, calls: number): Generator<TurnEvent<UpstreamName>, void> {
  const { think, say, call, count, over, broke } = part;
  if (think !== undefined)
    yield { type: "reasoning-delta", choice: 0, text: think, of: "content", part: 0 };
  if (say !== undefined) yield { type: "text-delta", choice: 0, text: say };
  if (call !== undefined) {
    const { id = `toy_${calls}`, name, input } = call;
    const at = { choice: 0, call: calls };
    yield { type: "call-start", ...at, kind: "function", name: upstreamName(name), id };
    yield { type: "call-delta", ...at, text: input };
    yield { type: "call-end", ...at, complete: true };
  }
  if (count !== undefined) {
    const { read: input, written: output } = count;
    yield { type: "usage", usage: { input, output, total: input + output } };
  }
  if (over !== undefined) yield { type: "turn-end", choice: 0, stop: over };
  if (broke !== undefined)
    yield {
      type: "turn-fail",
      fault: new Fault("upstream.said_error", `The upstream broke: ${broke}`),
    };
}

const upstream: UpstreamDialect = {
  path: ({ model, stream }) => `/models/${model}:${stream ? "stream" : "whole"}`,
  headers: (key) => ({ "x-toy-key": key ?? "", "x-toy-version": "1" }),
  profile,
  writeRequest(turn) {
    const request: Request = {
      lines: turn.items.flatMap(writeLine),
      tools: turn.tools.flatMap((tool) =>
        tool.type === "function" ? [{ name: tool.name, takes: tool.schema as Fields }] : [],
      ),
      pick: pickOf(turn.toolChoice) as string,
      shape: (turn.format?.type === "schema" ? turn.format.schema : undefined) as Fields,
      count: true,
    };
    return { text: JSON.stringify(request), decisions: [] };
  },
  readEvents() {
    let isOver = false;
    let isBegun = false;
    let calls = 0;
    const read: ReturnType<UpstreamDialect["readEvents"]>["whole"] = (data, emit) => {
      for (const part of [JSON.parse(data) as Part].flat()) {
        if (!isBegun) emit({ type: "turn-start", dialect: "toy" });
        isBegun = true;
        for (const event of readPart(part, calls)) emit(event);
        if (part.call !== undefined) calls++;
        if (part.over !== undefined) isOver = true;
      }
    };
    return {
      frame: (data, _name, _partial, emit) => read(data, emit),
      whole: read,
      done: () => isOver,
    };
  },
};

/**
 * A wire language that is nobody's, written as a user of the library would: the
 * model and whether to stream stand in the path, and an answer is a list of
 * `{think}`, `{say}`, `{call}`, `{count}` and `{over}`, one a frame.
 */
export const toyDialect: Dialect = { name: "toy", title: "Toy", traits, door, upstream };
