import type { Emit, EventStage } from "../../stream/stage.ts";
import type { CallStart, TextEnd, TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { JsonSchema, Turn } from "../../turn/turn.ts";
import { identityKey } from "../names/identity.ts";
import { buildToolCatalog } from "../plan/toolset.ts";
import { writeUseTool } from "./use-tool.ts";

type Event = TurnEvent<ClientName>;
type Called = { readonly start: CallStart<ClientName>; input: string };

/**
 * Repeats every call of one choice as a block of text after it. All text and all blocks of the
 * choice are in one message, which stays open during the calls.
 */
export function showUseTool(turn: Turn, delimiter: string): EventStage<ClientName> {
  const schemaOf = declaredSchemas(turn);
  const calls = new Map<number, Called>();
  let blocks = 0;
  let isOpen = false;
  /** The upstream's last end of text. */
  let ended: TextEnd | undefined;
  /** True if a call was cut off and has no block. */
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
      let call: Called | undefined;
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
          emit(event);
          call = calls.get(event.call);
          if (call !== undefined) call.input += event.text;
          return;
        case "call-end":
          emit(event);
          call = calls.get(event.call);
          isCut ||= !event.complete;
          if (call !== undefined && event.complete) show(call, emit);
          return;
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

/** A block has no separate place for the namespace. */
const shownName = ({ namespace, name }: CallStart<ClientName>): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** The schemas of the client's list of tools. */
function declaredSchemas(turn: Turn): (start: CallStart<ClientName>) => JsonSchema | undefined {
  let known: Map<string, JsonSchema | undefined> | undefined;
  return (start) => {
    known ??= new Map(
      buildToolCatalog({ ...turn, items: [] }).entries.map((entry) => [
        identityKey(entry),
        entry.tool.type === "function" ? entry.tool.schema : undefined,
      ]),
    );
    return known.get(identityKey(start));
  };
}
