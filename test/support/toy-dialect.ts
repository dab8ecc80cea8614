import type { Dialect } from "../../src/dialects/dialect.ts";
import type { DialectTraits } from "../../src/turn/dialect-traits.ts";
import { clientName, upstreamName } from "../../src/turn/names.ts";
import type { Fields, Item, Turn } from "../../src/turn/turn.ts";
import { genericChat } from "../../src/profiles/generic-chat.ts";

const traits: DialectTraits = {
  conversation: "lines",
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

type Line = { readonly by: "user" | "assistant"; readonly text: string };
type Tool = { readonly name: string; readonly takes?: Fields };

const frame = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;

/**
 * A wire language that is nobody's: the model and whether to stream stand in the
 * path, an answer is a list of `{say}`, `{call}` and `{over}`, one a frame, and
 * nothing marks the end of a stream.
 */
export const toyDialect: Dialect = {
  name: "toy",
  title: "Toy",
  traits,
  door: {
    routes: ["/toy/{model}:{verb}"],
    isRequest: (body) => "lines" in body,
    readRequest: (body, { model = "", verb = "" } = {}): Turn => ({
      dialect: "toy",
      traits,
      model,
      items: (body.lines as Line[]).map(({ by, text }): Item => ({
        type: "message",
        role: by,
        parts: [{ type: "text", text }],
      })),
      tools: ((body.tools ?? []) as Tool[]).map(({ name, takes }) => ({
        type: "function",
        name: clientName(name),
        schema: takes,
      })),
      params: { temperature: body.heat as number | undefined },
      stream: verb === "stream",
      usageWanted: false,
      extra: { dialect: "toy", fields: {} },
      body,
    }),
    newAnswerId: (newId) => newId("toy"),
    endMarker: "",
    writeEvents() {
      const calls = new Map<number, { name: string; input: string }>();
      return {
        each(event, emit) {
          if (event.type === "text-delta") emit(frame({ say: event.text }));
          if (event.type === "call-start") calls.set(event.call, { name: event.name, input: "" });
          const call = "call" in event ? calls.get(event.call) : undefined;
          if (event.type === "call-delta" && call !== undefined) call.input += event.text;
          if (event.type === "call-end" && event.complete) emit(frame({ call }));
          if (event.type === "turn-end") emit(frame({ over: event.stop }));
          if (event.type === "turn-fail") emit(frame({ broke: event.fault.message }));
        },
      };
    },
    writeAnswer: ({ choices: [first] }) =>
      JSON.stringify([
        ...(first?.items ?? []).flatMap((item): Fields[] => {
          if (item.type === "call") return [{ call: { name: item.name, input: item.input } }];
          if (item.type !== "message") return [];
          return item.parts.map((part) => ({ say: "text" in part ? part.text : "" }));
        }),
        { over: first?.stop },
      ]),
    writeError: (fault) => JSON.stringify({ broke: fault.message }),
  },
  upstream: {
    path: ({ model, stream }) => `/models/${model}:${stream ? "stream" : "whole"}`,
    headers: (key) => ({ "x-toy-key": key ?? "", "x-toy-version": "1" }),
    profile: { ...genericChat, name: "generic-toy", dialect: "toy", params: {} },
    writeRequest: (turn) => ({
      text: JSON.stringify({
        lines: turn.items.flatMap((item) =>
          item.type === "message" ? [{ by: item.role, text: JSON.stringify(item.parts) }] : [],
        ),
        tools: turn.tools.map(({ name }) => ({ name })),
      }),
      decisions: [],
    }),
    readEvents() {
      let isOver = false;
      let calls = 0;
      const read: ReturnType<NonNullable<Dialect["upstream"]>["readEvents"]>["whole"] = (
        data,
        emit,
      ) => {
        for (const part of [JSON.parse(data) as Fields].flat()) {
          if (calls === 0) emit({ type: "turn-start", dialect: "toy" });
          if (typeof part.say === "string") emit({ type: "text-delta", choice: 0, text: part.say });
          if (part.call !== undefined) {
            const { name, input } = part.call as { name: string; input: string };
            const at = { choice: 0, call: calls++ };
            const begun = { kind: "function", name: upstreamName(name), id: `toy_${at.call}` };
            emit({ type: "call-start", ...at, ...begun });
            emit({ type: "call-delta", ...at, text: input });
            emit({ type: "call-end", ...at, complete: true });
          }
          if (part.over !== undefined) {
            isOver = true;
            emit({ type: "turn-end", choice: 0, stop: calls > 0 ? "calls" : "end" });
          }
        }
      };
      return {
        frame: (data, _name, _partial, emit) => read(data, emit),
        whole: read,
        done: () => isOver,
      };
    },
  },
};
