import type { Emit, Stage } from "../../stream/stage.ts";
import type { CallStart, TextEnd, TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Callable, JsonSchema, Turn } from "../../turn/turn.ts";
import { identityKey } from "../names/identity.ts";
import { writeUseTool } from "./use-tool.ts";

type Event = TurnEvent<ClientName>;
type Called = { readonly start: CallStart<ClientName>; input: string };

/**
 * Shows every call of one choice a second time, as a block of text behind it.
 * All text of the choice and all blocks stand in one message, which therefore
 * stays open while calls are made.
 */
export function showUseTool(turn: Turn, delimiter: string): Stage<Event, Event> {
  const schemaOf = declaredSchemas(turn);
  const calls = new Map<number, Called>();
  let blocks = 0;
  let isOpen = false;
  /** How the upstream ended its text last. */
  let ended: TextEnd | undefined;
  /** Whether a call has no block, since it was cut off. */
  let isCut = false;

  const show = ({ start, input }: Called, emit: Emit<Event>): void => {
    const { choice, kind } = start;
    if (!isOpen) emit({ type: "text-start", choice });
    isOpen = true;
    const block = writeUseTool(shownName(start), input, schemaOf(start), kind);
    emit({ type: "text-delta", choice, text: blocks++ === 0 ? block : delimiter + block });
  };
  const close = (choice: number, emit: Emit<Event>): void => {
    const end = ended ?? { type: "text-end", choice };
    if (isOpen) emit(isCut ? { ...end, complete: false } : end);
    isOpen = false;
  };
  let last = 0;
  return {
    each(event, emit) {
      switch (event.type) {
        case "text-start":
          last = event.choice;
          emit(isOpen ? { type: "text-break", choice: last } : event);
          isOpen = true;
          return;
        case "text-end":
          ended = event;
          return;
        case "call-start":
          last = event.choice;
          calls.set(event.call, { start: event, input: "" });
          return emit(event);
        case "call-delta":
          grow(calls.get(event.call), event.text);
          return emit(event);
        case "call-end": {
          emit(event);
          const call = calls.get(event.call);
          isCut ||= !event.complete;
          if (call !== undefined && event.complete) show(call, emit);
          return;
        }
        case "turn-end":
        case "turn-fail":
          isCut ||= event.type === "turn-fail";
          close(last, emit);
          return emit(event);
        default:
          emit(event);
      }
    },
  };
}

function grow(call: Called | undefined, text: string): void {
  if (call !== undefined) call.input += text;
}

/** A name in a block has no room for a namespace of its own. */
const shownName = ({ namespace, name }: CallStart<ClientName>): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** The schemas a client declared, found by its own names. */
function declaredSchemas(turn: Turn): (start: CallStart<ClientName>) => JsonSchema | undefined {
  let known: Map<string, JsonSchema | undefined> | undefined;
  return (start) => {
    known ??= new Map(
      turn.tools.flatMap((tool) =>
        tool.type === "namespace"
          ? tool.tools.map((one) => entry(one, tool.name))
          : [entry(tool, undefined)],
      ),
    );
    return known.get(identityKey(start));
  };
}

const entry = (
  tool: Callable,
  namespace: string | undefined,
): readonly [string, JsonSchema | undefined] => {
  const kind = tool.type === "builtin" ? tool.kind : tool.type;
  const schema = tool.type === "function" ? tool.schema : undefined;
  return [identityKey({ kind, namespace, name: tool.name }), schema];
};
