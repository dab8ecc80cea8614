import type { Emit } from "../../stream/stage.ts";
import { discard } from "../../stream/straight.ts";
import type { Fields } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { literalsOf, type Pieces } from "../shared/frame-runs.ts";

/** Numbers events and puts them into frames. Fields come as JSON text without braces. */
export type NumberedFrames = {
  /** Where frames go from now on. */
  to(emit: Emit<string>): void;
  write(type: string, fields: string): void;
  /** Says a text in a frame whose head is always the same. */
  writeDelta(head: string, pieces: Pieces, tail: string): void;
  resumeAt(sequence: number): void;
};

export function numberedFrames(): NumberedFrames {
  let sequence = 0;
  let out: Emit<string> = () => {};
  return {
    to(emit) {
      out = emit;
    },
    write(type, fields) {
      const number = sequence++;
      if (out !== discard) out(`${frameHead(type, fields)},"sequence_number":${number}}\n\n`);
    },
    writeDelta(head, pieces, tail) {
      const literals = literalsOf(pieces);
      const first = sequence;
      sequence += literals.length;
      if (out === discard) return;
      let frames = "";
      for (const [at, literal] of literals.entries())
        frames += `${head}"${literal}"${tail}${first + at}}\n\n`;
      out(frames);
    },
    resumeAt(next) {
      sequence = next;
    },
  };
}

/** All of a frame before what changes from one to the next. */
export const frameHead = (type: string, fields: string): string =>
  `event: ${type}\ndata: {"type":"${type}",${fields}`;

export const DELTA_TAIL = ',"sequence_number":';

/** Where an item stands in the answer. */
export type OutputPosition = {
  readonly id: string;
  readonly index: number;
  /** Both, as the fields of an event. */
  readonly fields: string;
};

const placed = (id: string, index: number): OutputPosition => ({
  id,
  index,
  fields: `"item_id":${JSON.stringify(id)},"output_index":${index}`,
});

/** Gives items their places and keeps what became of them. */
export type OutputItems = {
  /** Announces an item. An id that another item has already is not used again. */
  add(id: string | undefined, prefix: string, item: (id: string) => Fields): OutputPosition;
  /** Closes an item: `item` is what the whole answer holds of it. */
  done(place: OutputPosition, item: Fields): void;
  closed(): readonly string[];
};

export function outputItems(
  line: NumberedFrames,
  { newId, keep }: Pick<WriteContext, "newId" | "keep">,
): OutputItems {
  const ids = new Set<string>();
  const items: string[] = [];
  let next = 0;
  return {
    add(given, prefix, item) {
      const id = given === undefined || ids.has(given) ? newId(prefix) : given;
      ids.add(id);
      const place = placed(id, next++);
      const text = JSON.stringify(item(id));
      line.write("response.output_item.added", `"output_index":${place.index},"item":${text}`);
      return place;
    },
    done(place, item) {
      const text = JSON.stringify(item);
      items[place.index] = text;
      keep?.(place.id, text);
      line.write("response.output_item.done", `"output_index":${place.index},"item":${text}`);
    },
    closed: () => items.filter((item) => item !== undefined),
  };
}
