import type { StopReason } from "../../turn/event.ts";
import type { Extra, Fields } from "../../turn/turn.ts";
import { given, filledText } from "../shared/loose.ts";

const stops: ReadonlyMap<string, StopReason> = new Map(
  Object.entries({
    end_turn: "end",
    stop_sequence: "end",
    pause_turn: "pause",
    compaction: "end",
    tool_use: "calls",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    refusal: "filter",
  } satisfies Record<string, StopReason>),
);

/** Said of every end, or by its stop reason already. */
const plain = new Set(["end_turn", "tool_use", "max_tokens"]);

/** An end we have no word for is an end all the same. */
export const readStop = (reason: string): StopReason => stops.get(reason) ?? "end";

/** What an end says beyond its reason: the sequence, why it was refused. */
export function stopExtra(delta: Fields): { readonly extra?: Extra } {
  const { stop_reason, stop_sequence, stop_details, container } = delta;
  const isPlain = plain.has(String(stop_reason));
  const more = given({ stop_sequence, stop_details, container });
  if (isPlain && Object.keys(more).length === 0) return {};
  return { extra: { dialect: "messages", fields: { stop_reason, ...more } } };
}

const reasons: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  calls: "tool_use",
  length: "max_tokens",
  filter: "refusal",
  pause: "pause_turn",
};

/** The end of an answer. What its upstream said of it stands where it is still the same end. */
export function writeStop(stop: StopReason, extra: Extra | undefined): Fields {
  const own = extra?.dialect === "messages" ? extra.fields : {};
  const { stop_reason, stop_sequence = null, ...more } = own;
  const said = filledText(stop_reason);
  const isSame = said !== undefined && readStop(said) === stop;
  return isSame
    ? { stop_reason: said, stop_sequence, ...more }
    : { stop_reason: reasons[stop], stop_sequence: null, ...more };
}
