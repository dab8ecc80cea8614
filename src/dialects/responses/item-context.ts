/** What the readers of output items share: where their events go, and texts that come in deltas. */

import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { listOf } from "../shared/loose.ts";

/** Reads one output item from its events, whichever come and in whatever order. */
export type ItemReader = {
  /** An event about the item. */
  each(type: string, raw: Fields): void;
  /** The item is over; `raw` is its final form, if the upstream sends one. */
  close(raw: Fields | undefined, complete: boolean): void;
  /** Whether all parts of it that were opened are done, though no event has closed the item. Not given: never. */
  isComplete?(): boolean;
};

/** Where the readers of one answer put what they find. */
export type AnswerContext = {
  readonly newId: NewId;
  readonly emit: (event: TurnEvent<UpstreamName>) => void;
  /** Something was not as the API sends it: the frame is not forwarded as it came. */
  readonly markRepaired: () => void;
  /** Something came only with the end that a delta should have brought before. */
  readonly markMissedDelta: () => void;
};

/** The same for the reader of one item. */
export type ItemContext = AnswerContext & {
  /** The ids of the calls so far. */
  readonly callIds: Set<string>;
  nextCall(): number;
  nextItem(): number;
};

/** An answer of this dialect has one choice. */
export const choice = 0;

/** A text that is streamed in deltas and, perhaps, sent once more as a whole. */
export type StreamedText = { text: string; done: boolean };

/**
 * The end of a whole text that its deltas did not bring. Where the two disagree
 * the deltas stand: they have been passed on.
 */
export function remainder(streamed: StreamedText, whole: unknown, to: ItemContext): string {
  streamed.done = true;
  if (typeof whole !== "string" || whole === streamed.text) return "";
  if (!whole.startsWith(streamed.text)) {
    to.markRepaired();
    return "";
  }
  to.markMissedDelta();
  const more = whole.slice(streamed.text.length);
  streamed.text = whole;
  return more;
}

/**
 * Finds what was streamed by its place in the whole. Where an index lies beyond
 * that, it is no index, and what was streamed stands in the order it came in.
 */
export function inPlace<T>(
  streamed: ReadonlyMap<number, T>,
  length: number,
): (place: number) => T | undefined {
  for (const index of streamed.keys())
    if (index >= length) {
      const list = [...streamed.values()];
      return (place) => list[place];
    }
  return (place) => streamed.get(place);
}

/** A list that holds something: an empty one is how the API says "none". */
export function filledList(value: unknown): readonly unknown[] | undefined {
  const list = listOf(value);
  return list === undefined || list.length === 0 ? undefined : list;
}
