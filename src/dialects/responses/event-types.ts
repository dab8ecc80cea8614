const named = (names: string): string[] => names.split(" ").map((name) => `response.${name}`);

/** Events about items that the upstream works on itself, by the type of the item. */
const hostedEvents: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    code_interpreter_call: ".in_progress .interpreting .completed _code.delta _code.done",
    compaction: ".compacting",
    file_search_call: ".in_progress .searching .completed",
    image_generation_call: ".in_progress .generating .partial_image .completed",
    mcp_call: ".in_progress .completed .failed _arguments.delta _arguments.done",
    mcp_list_tools: ".in_progress .completed .failed",
    shell_call: "_command.added _command.delta _command.done",
    shell_call_output: "_content.delta _content.done",
    web_search_call: ".in_progress .searching .completed",
  }).map(([item, endings]) => [
    item,
    endings.split(" ").map((ending) => `response.${item}${ending}`),
  ]),
);

/** True if the API has an event of a type about hosted items of a type. Its readers fail on others. */
export const isHostedEvent = (itemType: unknown, eventType: string): boolean =>
  hostedEvents.get(String(itemType))?.includes(eventType) === true;

/** All types of events that the API has. */
export const eventTypes: ReadonlySet<string> = new Set([
  "error",
  "keepalive",
  ...named("created queued in_progress completed incomplete failed"),
  ...named("output_item.added output_item.done content_part.added content_part.done"),
  ...named("output_text.delta output_text.done output_text.annotation.added"),
  ...named("refusal.delta refusal.done reasoning_text.delta reasoning_text.done"),
  ...named("reasoning_summary_part.added reasoning_summary_part.done"),
  ...named("reasoning_summary_text.delta reasoning_summary_text.done"),
  ...named("function_call_arguments.delta function_call_arguments.done"),
  ...named("custom_tool_call_input.delta custom_tool_call_input.done"),
  ...named("apply_patch_call_operation_diff.delta apply_patch_call_operation_diff.done"),
  ...named("audio.delta audio.done audio.transcript.delta audio.transcript.done"),
  ...[...hostedEvents.values()].flat(),
]);
