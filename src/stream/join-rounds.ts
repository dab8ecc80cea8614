/** Joins the events of several upstream calls into those of one turn. */

import type { TurnEnd, TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import type { Emit } from "./stage.ts";

/** Makes one answer of the answers to several rounds. */
export type JoinedRounds<Name extends AnyName> = {
  each(event: TurnEvent<Name>, emit: Emit<TurnEvent<Name>>): void;
  /** The round is over and another follows: its ends are not the turn's. */
  nextRound(): void;
  /** The round was the last one. */
  end(emit: Emit<TurnEvent<Name>>): void;
};

/**
 * The start is the first round's, the ends are the last one's; calls and items
 * are numbered on from round to round.
 */
export function joinRounds<Name extends AnyName>(): JoinedRounds<Name> {
  let started = false;
  let ends: TurnEnd[] = [];
  const calls = numbering();
  const items = numbering();
  return {
    each(event, emit) {
      switch (event.type) {
        case "turn-start":
          if (!started) emit(event);
          started = true;
          return;
        case "turn-end":
          ends.push(event);
          return;
        case "call-start":
          return emit({ ...event, call: calls.begin(event.choice, event.call) });
        case "call-delta":
        case "call-end":
          return emit({ ...event, call: calls.find(event.choice, event.call) });
        case "item-start":
          return emit({ ...event, item: items.begin(event.choice, event.item) });
        case "item-note":
        case "item-end":
          return emit({ ...event, item: items.find(event.choice, event.item) });
        default:
          emit(event);
      }
    },
    nextRound() {
      ends = [];
      calls.nextRound();
      items.nextRound();
    },
    end(emit) {
      for (const event of ends) emit(event);
      ends = [];
    },
  };
}

/**
 * Numbers calls or items in the order in which they begin, choice by choice and
 * on from round to round: what a round says of its own and a stage holds back
 * leaves no gap.
 */
function numbering() {
  const next = new Map<number, number>();
  /** By the choice and the number that the round gives it. */
  const round = new Map<string, number>();
  const key = (choice: number, index: number): string => `${choice}:${index}`;
  return {
    begin(choice: number, index: number): number {
      const number = next.get(choice) ?? 0;
      next.set(choice, number + 1);
      round.set(key(choice, index), number);
      return number;
    },
    find: (choice: number, index: number): number => round.get(key(choice, index)) ?? index,
    nextRound: (): void => round.clear(),
  };
}
