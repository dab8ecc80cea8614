import { sseDone, sseFrame } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import type { EventWriter } from "../../stream/straight.ts";
import type { CallStart, ReasoningDelta, TurnStart, Usage } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { faultBody } from "../fault-body.ts";
import { writeAnnotation } from "./citations.ts";
import { writeFinish } from "./finish.ts";
import { ownExtra } from "./schema.ts";
import { answerHead, isLegacy } from "./write-answer.ts";
import { writeUsage } from "./usage.ts";

/** What stands before a text that is written often, and what stands behind it. */
type Frame = { readonly head: string; readonly tail: string };

type Choice = {
  readonly text: Frame;
  readonly reasoning: Frame;
  /** Frames of argument fragments, in the order the calls began. */
  readonly calls: Map<number, Frame>;
  /** The paragraph of the reasoning that was written last. */
  paragraph: string | undefined;
};

/** Stands where the text will be while a frame is made. */
const HOLE = "\u{f0000}";

/** Writes a chat stream as the strictest readers want it. */
export function writeEvents(turn: Turn, context: WriteContext): EventWriter<ClientName> {
  const choices = new Map<number, Choice>();
  const counts = turn.usageWanted ? { usage: null } : {};
  let start: TurnStart = { type: "turn-start" };
  let head: Fields | undefined;
  let usage: Usage | undefined;
  let failed = false;

  const headOf = (): Fields =>
    (head ??= {
      ...answerHead(start, turn, context),
      object: "chat.completion.chunk",
    });
  const chunk = (index: number, delta: Fields, more: Fields = {}): string =>
    JSON.stringify({
      ...headOf(),
      choices: [{ index, delta, logprobs: null, finish_reason: null, ...more }],
      ...counts,
    });
  const frameOf = (index: number, delta: Fields): Frame => {
    const [before = "", after = ""] = sseFrame(chunk(index, delta)).split(`"${HOLE}"`);
    return { head: before, tail: after };
  };
  const say = (emit: Emit<string>, index: number, delta: Fields, more?: Fields): void =>
    emit(sseFrame(chunk(index, delta, more)));

  /** The role comes once, before all else. */
  const choiceOf = (index: number, emit: Emit<string>, content: "" | null = ""): Choice => {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const choice: Choice = {
      text: frameOf(index, { content: HOLE }),
      reasoning: frameOf(index, { reasoning_content: HOLE }),
      calls: new Map(),
      paragraph: undefined,
    };
    choices.set(index, choice);
    say(emit, index, { role: "assistant", content, refusal: null });
    return choice;
  };
  const sayReasoning = (event: ReasoningDelta, emit: Emit<string>): void => {
    const choice = choiceOf(event.choice, emit);
    const { head, tail } = choice.reasoning;
    const paragraph = `${event.of}${event.part}`;
    const isNext = choice.paragraph !== undefined && choice.paragraph !== paragraph;
    choice.paragraph = paragraph;
    emit(head + JSON.stringify(isNext ? `\n\n${event.text}` : event.text) + tail);
  };
  const sayCall = (event: CallStart<ClientName>, emit: Emit<string>): void => {
    const { calls } = choiceOf(event.choice, emit, null);
    const form = callForm(calls.size, event, isLegacy(turn));
    say(emit, event.choice, form.open);
    calls.set(event.call, frameOf(event.choice, form.more));
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "turn-start":
          start = event;
          return;
        case "text-delta": {
          const { text } = choiceOf(event.choice, emit);
          if (event.logprobs === undefined)
            return emit(text.head + JSON.stringify(event.text) + text.tail);
          const logprobs = { content: event.logprobs, refusal: null };
          return say(emit, event.choice, { content: event.text }, { logprobs });
        }
        case "call-delta": {
          const frame = choices.get(event.choice)?.calls.get(event.call);
          if (frame !== undefined) emit(frame.head + JSON.stringify(event.text) + frame.tail);
          return;
        }
        case "reasoning-delta":
          return sayReasoning(event, emit);
        case "call-start":
          return sayCall(event, emit);
        case "refusal-delta":
          choiceOf(event.choice, emit);
          return say(emit, event.choice, { refusal: event.text });
        case "text-note": {
          const annotation = writeAnnotation(event.annotation);
          choiceOf(event.choice, emit);
          if (annotation !== undefined) say(emit, event.choice, { annotations: [annotation] });
          return;
        }
        case "reasoning-end": {
          const choice = choiceOf(event.choice, emit);
          choice.paragraph = undefined;
          if (event.details !== undefined)
            say(emit, event.choice, { reasoning_details: event.details });
          return;
        }
        case "usage":
          usage = event.usage;
          return;
        case "turn-end": {
          const { calls } = choiceOf(event.choice, emit);
          const finish = writeFinish(event.stop, isLegacy(turn) && calls.size > 0);
          return say(emit, event.choice, {}, { finish_reason: finish });
        }
        case "turn-fail":
          failed = true;
          return emit(sseFrame(JSON.stringify(faultBody(event.fault))) + sseDone);
        // Said by what is in them, or chat has no words for it.
        case "text-start":
        case "text-break":
        case "text-end":
        case "reasoning-start":
        case "call-end":
        case "item-start":
        case "item-note":
        case "item-end":
        case "frame":
          return;
        default:
          event satisfies never;
      }
    },
    end(emit) {
      if (failed) return;
      if (turn.usageWanted && usage !== undefined)
        emit(sseFrame(JSON.stringify({ ...headOf(), choices: [], usage: writeUsage(usage) })));
      emit(sseDone);
    },
  };
}

/** A call's first delta, and the one that carries a piece of its input. */
function callForm(
  index: number,
  { id, kind, name, extra }: CallStart<ClientName>,
  legacy: boolean,
): { open: Fields; more: Fields } {
  if (legacy && index === 0)
    return {
      open: { function_call: { name, arguments: "" } },
      more: { function_call: { arguments: HOLE } },
    };
  // Chat has two kinds; a call of another is one of a function by that name.
  const [type, key] =
    kind === "custom" ? (["custom", "input"] as const) : (["function", "arguments"] as const);
  return {
    open: { tool_calls: [{ ...ownExtra(extra), index, id, type, [type]: { name, [key]: "" } }] },
    more: { tool_calls: [{ index, [type]: { [key]: HOLE } }] },
  };
}
