import type { CallDelta, CallEnd, CallStart } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Call, Fields, Item } from "../../turn/turn.ts";
import type { Pieces } from "../shared/frame-runs.ts";
import { writeOutputItem } from "./items.ts";
import { kindOf } from "./kinds.ts";
import { DELTA_TAIL, frameHead, type NumberedFrames, type OutputItems } from "./numbered-frames.ts";

/** Shows calls, each by its kind. `closed` is the folded item that an end has closed. */
export function callsWriter(
  line: NumberedFrames,
  items: OutputItems,
): { each(event: CallStart<ClientName> | CallDelta | CallEnd, closed: Item | undefined): void } {
  const open = new Map<number, CallWriter>();
  return {
    each(event, closed) {
      if (event.type === "call-start") open.set(event.call, callWriter(line, items, event));
      else if (event.type === "call-delta") open.get(event.call)?.delta(event);
      else if (closed?.type === "call") open.get(event.call)?.end(closed);
    },
  };
}

/** Shows one call while it is made. */
type CallWriter = {
  delta(pieces: Pieces): void;
  end(call: Call): void;
};

/** The events of those kinds whose input is streamed. */
const events: Readonly<Record<string, string>> = {
  function: "response.function_call_arguments",
  custom: "response.custom_tool_call_input",
};

function callWriter(
  line: NumberedFrames,
  items: OutputItems,
  start: CallStart<ClientName>,
): CallWriter {
  const kind = kindOf(start.kind);
  const type = events[kind.kind];
  return type === undefined
    ? wholeCall(items, kind.prefix)
    : growingCall(line, items, start, { type, field: kind.input, prefix: kind.prefix });
}

function growingCall(
  line: NumberedFrames,
  items: OutputItems,
  start: CallStart<ClientName>,
  words: { readonly type: string; readonly field: string; readonly prefix: string },
): CallWriter {
  const { id: callId, kind, name, namespace, extra } = start;
  const blank: Call = { type: "call", id: callId, kind, name, namespace, input: "", extra };
  const place = items.add(start.itemId, words.prefix, (id) => show(blank, id, "in_progress"));
  const head = `${frameHead(`${words.type}.delta`, place.fields)},"delta":`;
  return {
    delta: (pieces) => line.writeDelta(head, pieces, DELTA_TAIL),
    end(call) {
      const item = writeOutputItem(call, place.id);
      // Cut off, and some clients would run it: an item that is not closed is none.
      if (item === undefined) return;
      const input = `"${words.field}":${JSON.stringify(call.input)}`;
      const named = kind === "custom" ? "" : `"name":${JSON.stringify(name)},`;
      line.write(`${words.type}.done`, `${place.fields},${named}${input}`);
      items.done(place, item);
    },
  };
}

/**
 * Calls of the other kinds hold a value, which is only one when it is whole:
 * they are announced and closed at once. One that was cut off is not shown.
 */
function wholeCall(items: OutputItems, prefix: string): CallWriter {
  return {
    delta() {},
    end(call) {
      if (writeOutputItem(call, "") === undefined) return;
      const place = items.add(call.itemId, prefix, (id) => show(call, id, "in_progress"));
      items.done(place, show(call, place.id, call.status));
    },
  };
}

const show = (call: Call, id: string, status: Call["status"]): Fields =>
  writeOutputItem({ ...call, status }, id) ?? {};
