import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { listOf } from "../shared/loose.ts";

/** Reads one output item, from whatever is told of it and in whatever order. */
export type ItemReader = {
  /** An event about the item. */
  each(type: string, raw: Fields): void;
  /** It is over; `raw` is what it came to, if the upstream says. */
  close(raw: Fields | undefined, complete: boolean): void;
  /** Whether all that was begun of it is done, though its own end has not been told. None: never. */
  ripe?(): boolean;
};

/** Whom the reader of an item tells what it finds. */
export type ItemContext = {
  say(event: TurnEvent<UpstreamName>): void;
  /** Something was not as the API sends it. */
  bent(): void;
  /** Something was told only at the end that should have been told before. */
  late(): void;
  readonly newId: NewId;
  /** The ids of the calls so far. */
  readonly callIds: Set<string>;
  nextCall(): number;
  nextItem(): number;
};

/** An answer of this dialect has one choice. */
export const choice = 0;

/** A text that comes in pieces and, perhaps, once more as a whole. */
export type Telling = { said: string; done: boolean };

/**
 * What a whole text holds beyond its pieces. Where the two disagree the pieces
 * stand: they have been passed on.
 */
export function remainder(telling: Telling, whole: unknown, to: ItemContext): string {
  telling.done = true;
  if (typeof whole !== "string" || whole === telling.said) return "";
  if (!whole.startsWith(telling.said)) {
    to.bent();
    return "";
  }
  to.late();
  const more = whole.slice(telling.said.length);
  telling.said = whole;
  return more;
}

/**
 * Finds what was told by its place in the whole. Where an index lies beyond
 * that, it is no index, and what was told stands in the order it was told in.
 */
export function inPlace<T>(
  told: ReadonlyMap<number, T>,
  length: number,
): (place: number) => T | undefined {
  for (const index of told.keys())
    if (index >= length) {
      const list = [...told.values()];
      return (place) => list[place];
    }
  return (place) => told.get(place);
}

/** A list that holds something: an empty one is how the API says "none". */
export function filledList(value: unknown): readonly unknown[] | undefined {
  const list = listOf(value);
  return list === undefined || list.length === 0 ? undefined : list;
}
