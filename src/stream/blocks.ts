import type { StopReason, TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { Emit, Stage } from "./stage.ts";

type Choice = {
  readonly index: number;
  open: "text" | "reasoning" | undefined;
  readonly calls: Map<number, { kind: string; empty: boolean }>;
  called: boolean;
  /** The call last written to, unless another block has begun since. */
  current: number | undefined;
  stop: StopReason | undefined;
};

/**
 * Makes the events of a reader lawful, so that no writer has to wonder: opens
 * and closes blocks, holds each choice's end back until the stream is over
 * (text and counts may follow a finish), and lets nothing pass a failure. A
 * stream that ends before its choices did becomes a failure.
 */
export function blocks<Name extends AnyName>(): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const choices: (Choice | undefined)[] = [];
  let started = false;
  let failed = false;

  type Event = TurnEvent<Name>;
  const choiceOf = (index: number): Choice =>
    (choices[index] ??= {
      index,
      open: undefined,
      calls: new Map(),
      called: false,
      current: undefined,
      stop: undefined,
    });

  const closeBlock = (choice: Choice, emit: Emit<Event>, complete = true): void => {
    if (choice.open === undefined) return;
    const type = choice.open === "text" ? "text-end" : "reasoning-end";
    choice.open = undefined;
    emit({ type, choice: choice.index, ...(complete ? {} : { complete }) });
  };
  const openBlock = (index: number, block: "text" | "reasoning", emit: Emit<Event>): Choice => {
    const choice = choiceOf(index);
    if (choice.open === block) return choice;
    closeBlock(choice, emit);
    emit({ type: block === "text" ? "text-start" : "reasoning-start", choice: index });
    choice.open = block;
    choice.current = undefined;
    return choice;
  };
  const closeCall = (choice: Choice, call: number, complete: boolean, emit: Emit<Event>): void => {
    const open = choice.calls.get(call);
    if (open === undefined) return;
    choice.calls.delete(call);
    // A function called with nothing is called with no arguments: readers parse what they get.
    if (complete && open.empty && open.kind === "function")
      emit({ type: "call-delta", choice: choice.index, call, text: "{}" });
    emit({ type: "call-end", choice: choice.index, call, complete });
  };
  /** Cut off in the middle: the block that is still open, and the calls that `cut` names. */
  const closeAll = (
    choice: Choice,
    cut: false | ((call: number) => boolean),
    emit: Emit<Event>,
  ) => {
    closeBlock(choice, emit, cut === false);
    for (const call of choice.calls.keys())
      closeCall(choice, call, cut === false || !cut(call), emit);
  };
  const fail = (fault: Fault, emit: Emit<Event>): void => {
    failed = true;
    for (const choice of choices) if (choice) closeAll(choice, () => true, emit);
    emit({ type: "turn-fail", fault });
  };
  const allStopped = (): boolean =>
    choices.some((choice) => choice !== undefined) &&
    choices.every((choice) => choice === undefined || choice.stop !== undefined);

  return {
    each(event, emit) {
      if (failed) return;
      if (!started && event.type !== "turn-fail" && event.type !== "frame") {
        started = true;
        if (event.type !== "turn-start") emit({ type: "turn-start" });
      } else if (event.type === "turn-start") return;

      switch (event.type) {
        case "text-delta":
          if (event.text === "" && event.logprobs === undefined) return;
          openBlock(event.choice, "text", emit);
          return emit(event);
        case "refusal-delta":
          if (event.text === "") return;
          openBlock(event.choice, "text", emit);
          return emit(event);
        case "text-note":
        case "text-break":
          openBlock(event.choice, "text", emit);
          return emit(event);
        case "reasoning-delta":
          if (event.text === "") return;
          openBlock(event.choice, "reasoning", emit);
          return emit(event);
        case "call-delta": {
          if (event.text === "") return;
          const choice = choiceOf(event.choice);
          const call = choice.calls.get(event.call);
          if (call === undefined) return;
          call.empty = false;
          choice.current = event.call;
          return emit(event);
        }
        case "text-start":
        case "reasoning-start": {
          const choice = choiceOf(event.choice);
          closeBlock(choice, emit);
          choice.open = event.type === "text-start" ? "text" : "reasoning";
          choice.current = undefined;
          return emit(event);
        }
        case "text-end": {
          const choice = choiceOf(event.choice);
          if (choice.open === "text") closeBlock(choice, emit, event.complete !== false);
          return;
        }
        case "reasoning-end":
          // Sealed reasoning may come without a word that can be read.
          openBlock(event.choice, "reasoning", emit).open = undefined;
          return emit(event);
        case "call-start": {
          const choice = choiceOf(event.choice);
          closeBlock(choice, emit);
          choice.calls.set(event.call, { kind: event.kind, empty: true });
          choice.called = true;
          choice.current = event.call;
          return emit(event);
        }
        case "call-end":
          return closeCall(choiceOf(event.choice), event.call, event.complete, emit);
        case "item-start":
        case "item-note":
        case "item-end":
          closeBlock(choiceOf(event.choice), emit);
          return emit(event);
        case "turn-end":
          choiceOf(event.choice).stop = event.stop;
          return;
        case "turn-fail":
          // What comes after every choice has ended can no longer spoil the answer.
          if (!allStopped()) fail(event.fault, emit);
          return;
        case "turn-start":
        case "usage":
        case "frame":
          return emit(event);
        default:
          event satisfies never;
      }
    },

    end(emit) {
      if (failed) return;
      if (!started || choices.length === 0)
        return fail(
          new Fault("upstream.empty", "The upstream ended its answer before it began; try again."),
          emit,
        );
      if (!allStopped())
        return fail(
          new Fault(
            "upstream.cut",
            "The upstream closed the stream before the answer was complete; try again.",
          ),
          emit,
        );
      for (const choice of choices) {
        if (choice?.stop === undefined) continue;
        const { stop, current, called } = choice;
        const cutOff = stop === "length" || stop === "filter";
        closeAll(choice, cutOff && ((call) => call === current), emit);
        emit({ type: "turn-end", choice: choice.index, stop: settleStop(stop, called) });
      }
    },
  };
}

/** Providers disagree on what they call a stop for calls; whether calls were made is a fact. */
function settleStop(stop: StopReason, called: boolean): StopReason {
  if (stop === "end" || stop === "calls") return called ? "calls" : "end";
  return stop;
}
