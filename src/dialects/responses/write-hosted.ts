import type { ItemEnd, ItemNote, ItemStart } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { filledText } from "../shared/loose.ts";
import type { OnLoss } from "../shared/losses.ts";
import { noteTypes } from "./event-types.ts";
import type { NumberedFrames, OutputPosition, OutputItems } from "./numbered-frames.ts";

/** Clients know the items of their own API and no others. */
export const loseItem = (
  { raw, choice = 0 }: { readonly raw: Fields; readonly choice?: number },
  lose: OnLoss,
): void => lose(`\`${filledText(raw.type) ?? "item"}\``, choice);

/** Shows items that the upstream works on itself, as it shows them. */
export type HostedWriter = {
  each(event: ItemStart | ItemNote | ItemEnd): void;
  /** Closes what the upstream left open. */
  close(): void;
};

export function hostedWriter(line: NumberedFrames, items: OutputItems): HostedWriter {
  const open = new Map<number, { readonly place: OutputPosition; readonly raw: Fields }>();

  const start = (item: number, raw: Fields): void => {
    const given = typeof raw.id === "string" && raw.id !== "" ? raw.id : undefined;
    const place = items.add(given, "item", (id) => ({ ...raw, id }));
    open.set(item, { place, raw });
  };
  /** An event that the API does not have would make its readers fail. */
  const note = (item: number, raw: Fields): void => {
    const found = open.get(item);
    if (found === undefined || typeof raw.type !== "string") return;
    const kind = String(found.raw.type);
    if (!Object.hasOwn(noteTypes, kind) || noteTypes[kind]?.includes(raw.type) !== true) return;
    const { type, sequence_number: _, ...fields } = raw;
    const { id, index } = found.place;
    const place = { ...("item_id" in fields && { item_id: id }), output_index: index };
    line.write(type, JSON.stringify({ ...fields, ...place }).slice(1, -1));
  };
  const end = (item: number, raw: Fields): void => {
    const found = open.get(item);
    if (found === undefined) return;
    open.delete(item);
    items.done(found.place, { ...raw, id: found.place.id });
  };
  const steps = { "item-start": start, "item-note": note, "item-end": end };
  return {
    each: (event) => steps[event.type](event.item, event.raw),
    close() {
      for (const [item, { raw }] of open) end(item, raw);
    },
  };
}
