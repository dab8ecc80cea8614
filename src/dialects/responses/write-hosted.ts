import type { ItemEnd, ItemNote, ItemStart } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Line, Place, Shelf } from "./line.ts";

/** What the API's own events about an item are called, by the type of the item. */
const noteTypes: Readonly<Record<string, readonly string[]>> = {
  code_interpreter_call: [
    "response.code_interpreter_call.in_progress",
    "response.code_interpreter_call.interpreting",
    "response.code_interpreter_call.completed",
    "response.code_interpreter_call_code.delta",
    "response.code_interpreter_call_code.done",
  ],
  compaction: ["response.compaction.compacting"],
  file_search_call: [
    "response.file_search_call.in_progress",
    "response.file_search_call.searching",
    "response.file_search_call.completed",
  ],
  image_generation_call: [
    "response.image_generation_call.in_progress",
    "response.image_generation_call.generating",
    "response.image_generation_call.partial_image",
    "response.image_generation_call.completed",
  ],
  mcp_call: [
    "response.mcp_call.in_progress",
    "response.mcp_call.completed",
    "response.mcp_call.failed",
    "response.mcp_call_arguments.delta",
    "response.mcp_call_arguments.done",
  ],
  mcp_list_tools: [
    "response.mcp_list_tools.in_progress",
    "response.mcp_list_tools.completed",
    "response.mcp_list_tools.failed",
  ],
  shell_call: [
    "response.shell_call_command.added",
    "response.shell_call_command.delta",
    "response.shell_call_command.done",
  ],
  shell_call_output: [
    "response.shell_call_output_content.delta",
    "response.shell_call_output_content.done",
  ],
  web_search_call: [
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
  ],
};

/** Shows items that the upstream works on itself, as it shows them. */
export type HostedWriter = {
  each(event: ItemStart | ItemNote | ItemEnd): void;
  /** Closes what the upstream left open. */
  close(): void;
};

export function hostedWriter(line: Line, items: Shelf): HostedWriter {
  const open = new Map<number, { readonly place: Place; readonly raw: Fields }>();

  const start = (item: number, raw: Fields): void => {
    const wished = typeof raw.id === "string" && raw.id !== "" ? raw.id : undefined;
    const place = items.add(wished, "item", (id) => ({ ...raw, id }));
    open.set(item, { place, raw });
  };
  /** An event that the API does not have would make its readers fail. */
  const note = (item: number, raw: Fields): void => {
    const found = open.get(item);
    if (found === undefined || typeof raw.type !== "string") return;
    if (noteTypes[String(found.raw.type)]?.includes(raw.type) !== true) return;
    const { type, sequence_number: _, ...fields } = raw;
    const { id, index } = found.place;
    const place = { ...("item_id" in fields && { item_id: id }), output_index: index };
    line.say(type, JSON.stringify({ ...fields, ...place }).slice(1, -1));
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
