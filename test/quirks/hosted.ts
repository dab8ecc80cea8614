import {
  added,
  completed,
  created,
  delta,
  done,
  message,
  of,
  openMessage,
  part,
} from "../support/responses-sending.ts";
import type { Body } from "../support/fake-upstream.ts";
import { numbered, type Quirk } from "./quirk.ts";

/** An item that the provider worked on by itself, its own events, then a text. */
function hosted(providers: string, item: Body, ...events: readonly (readonly [string, Body?])[]) {
  const type = item["type"] as string;
  const whole = { id: "h_1", status: "completed", ...item };
  const parts: readonly Body[] = [
    created,
    added({ ...whole, status: "in_progress" }),
    ...events.map(([event, fields]) => of(`${type}${event}`, fields ?? {}, "h_1")),
    done(whole),
    added(openMessage, 1),
    { ...part, output_index: 1 },
    { ...delta("Hello"), output_index: 1 },
    done(message(), 1),
    completed(whole, message()),
  ];
  return {
    quirk: `an item of the provider's own: ${type}`,
    providers,
    wire: numbered(...parts),
    sees: { text: "Hello", items: [type, "message"] },
  } satisfies Quirk;
}

const progress = [[".in_progress"], [".completed"]] as const;
const write = { name: "write", input: "*** {", id: "call_1", kind: "custom" } as const;
const customItem = (input: string, status: string): Body => ({
  type: "custom_tool_call",
  id: "ctc_1",
  call_id: "call_1",
  name: "write",
  input,
  status,
});

/** Items of the Responses API besides messages, reasoning and functions. */
export const hostedItems = [
  hosted(
    "OpenAI, Azure, xAI",
    { type: "web_search_call", action: { type: "search", query: "q" } },
    [".in_progress"],
    [".searching"],
    [".completed"],
  ),
  hosted("xAI", {
    type: "web_search_call",
    action: { type: "search", query: "q" },
    name: "web_search",
    arguments: '{"query":"q"}',
    call_id: "",
  }),
  hosted(
    "OpenAI, Azure",
    { type: "file_search_call", queries: ["q"], results: null },
    [".in_progress"],
    [".searching"],
    [".completed"],
  ),
  hosted(
    "OpenAI, Azure, xAI",
    { type: "code_interpreter_call", code: "1+1", container_id: "cntr_1", outputs: null },
    [".in_progress"],
    ["_code.delta", { delta: "1+1" }],
    ["_code.done", { code: "1+1" }],
    [".interpreting"],
    [".completed"],
  ),
  hosted("OpenAI", { type: "image_generation_call", result: "AAAA" }, ...progress),
  hosted(
    "OpenAI",
    { type: "mcp_list_tools", server_label: "s", tools: [] },
    [".in_progress"],
    [".completed"],
  ),
  hosted(
    "OpenAI",
    {
      type: "mcp_call",
      server_label: "s",
      name: "echo",
      arguments: "{}",
      output: "ok",
      error: null,
    },
    [".in_progress"],
    ["_arguments.delta", { delta: "{}" }],
    ["_arguments.done", { arguments: "{}" }],
    [".completed"],
  ),
  hosted("OpenAI", {
    type: "mcp_approval_request",
    server_label: "s",
    name: "echo",
    arguments: "{}",
  }),
  hosted("OpenAI", { type: "compaction", encrypted_content: "c2VhbA==" }),
  {
    quirk: "a call of a custom tool, in deltas",
    providers: "OpenAI",
    wire: numbered(
      created,
      added(customItem("", "in_progress")),
      of("custom_tool_call_input.delta", { delta: "*** " }, "ctc_1"),
      of("custom_tool_call_input.delta", { delta: "{" }, "ctc_1"),
      of("custom_tool_call_input.done", { input: "*** {" }, "ctc_1"),
      done(customItem("*** {", "completed")),
      completed(customItem("*** {", "completed")),
    ),
    sees: { calls: [write] },
  },
  {
    quirk: "a call of a custom tool, whole when it is done",
    providers: "Open Responses servers",
    wire: {
      stream: [
        created,
        added(customItem("", "in_progress")),
        done(customItem("*** {", "completed")),
        completed(customItem("*** {", "completed")),
      ],
    },
    sees: { calls: [write] },
  },
] as const satisfies readonly Quirk[];
