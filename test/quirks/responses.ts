import {
  added,
  argument,
  argumentsDone,
  call,
  completed,
  created,
  delta,
  done,
  message,
  of,
  openCall,
  openMessage,
  part,
  response,
  textDone,
} from "../support/responses-sending.ts";
import type { Body } from "../support/fake-upstream.ts";
import { numbered, type Quirk } from "./quirk.ts";

const hello = { text: "Hello" };
const look = { name: "look", input: '{"a":1}', id: "call_1" };
const find = { name: "find", input: '{"b":2}', id: "call_2" };
const findItem = call('{"b":2}', { id: "fc_2", call_id: "call_2", name: "find" });
const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [],
  content: [{ type: "reasoning_text", text: "Hm." }],
};
const summary = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
const inSecond = (event: Body): Body => ({ ...event, output_index: 1 });
const { sequence_number: _, ...unnumbered } = { sequence_number: 0, ...created };

/** How servers of the Responses API say texts, calls and reasoning. */
export const responsesItems = [
  {
    quirk: "no sequence numbers",
    providers: "Open Responses servers",
    wire: {
      stream: [
        unnumbered,
        added(openMessage),
        part,
        delta("Hello"),
        textDone("Hello"),
        done(message()),
        completed(message()),
      ],
    },
    sees: hello,
  },
  {
    quirk: "sequence numbers with gaps",
    providers: "OpenAI with hosted shells",
    wire: {
      stream: [
        created,
        added(openMessage),
        part,
        delta("Hello"),
        done(message()),
        completed(message()),
      ].map((event, at) => Object.assign({}, event, { sequence_number: at * 3 })),
    },
    sees: hello,
  },
  {
    quirk: "ids of response and items that change with every event",
    providers: "GitHub Copilot",
    wire: numbered(
      created,
      added({ ...openMessage, id: "a" }),
      { ...part, item_id: "b" },
      { ...delta("Hel"), item_id: "c" },
      { ...delta("lo"), item_id: "d" },
      { ...textDone("Hello"), item_id: "e" },
      done({ ...message(), id: "f" }),
      {
        type: "response.completed",
        response: response({ id: "g", status: "completed", output: [{ ...message(), id: "h" }] }),
      },
    ),
    sees: hello,
  },
  {
    quirk: "deltas that name another item than the one at their place",
    providers: "OpenAI with hosted tools",
    wire: numbered(
      created,
      added(openCall),
      { ...argument('{"a":1}'), item_id: "fc_9" },
      done(call()),
      completed(call()),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "a call without deltas, whole when it is done",
    providers: "LM Studio, Open Responses servers",
    wire: numbered(
      created,
      added(openCall),
      argumentsDone('{"a":1}'),
      done(call()),
      completed(call()),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "a call that is whole when it is added",
    providers: "xAI",
    wire: numbered(created, added(call()), done(call()), completed(call())),
    sees: { calls: [look] },
  },
  {
    quirk: "a text without deltas, whole when it is done",
    providers: "Open Responses servers",
    wire: numbered(created, added(openMessage), done(message()), completed(message())),
    sees: hello,
  },
  {
    quirk: "items that are only in the last event",
    providers: "gateways that do not stream",
    wire: numbered(created, completed(message(), call())),
    sees: { text: "Hello", calls: [look] },
  },
  {
    quirk: "deltas of an item that was never added",
    providers: "gateways that drop events",
    wire: numbered(created, delta("Hel"), delta("lo"), completed(message())),
    sees: hello,
  },
  {
    quirk: "items that are never done",
    providers: "gateways that drop events",
    wire: numbered(created, added(openMessage), delta("Hello"), completed(message())),
    sees: hello,
  },
  {
    quirk: "an output that is empty in the last event",
    providers: "ChatGPT's backend for Codex",
    wire: numbered(
      created,
      added(openMessage),
      part,
      delta("Hello"),
      textDone("Hello"),
      done(message()),
      completed(),
    ),
    sees: hello,
  },
  {
    quirk: "two calls whose deltas take turns",
    providers: "xAI, OpenAI",
    wire: numbered(
      created,
      added(openCall),
      added({ ...findItem, arguments: "", status: "in_progress" }, 1),
      argument('{"a"'),
      { ...argument('{"b"'), item_id: "fc_2", output_index: 1 },
      argument(":1}"),
      { ...argument(":2}"), item_id: "fc_2", output_index: 1 },
      done(call()),
      done(findItem, 1),
      completed(call(), findItem),
    ),
    sees: { calls: [look, find] },
  },
  {
    quirk: "a call id that is missing",
    providers: "local servers",
    wire: numbered(
      created,
      added({ ...openCall, call_id: undefined }),
      argument('{"a":1}'),
      done({ ...call(), call_id: undefined }),
      completed({ ...call(), call_id: undefined }),
    ),
    sees: { calls: [{ name: "look", input: '{"a":1}' }] },
  },
  {
    quirk: "arguments as an object",
    providers: "local servers",
    wire: numbered(
      created,
      added(openCall),
      done({ ...call(), arguments: { a: 1 } }),
      completed({ ...call(), arguments: { a: 1 } }),
    ),
    sees: { calls: [look] },
  },
  {
    quirk: "reasoning as text of its own",
    providers: "LM Studio, gpt-oss",
    wire: numbered(
      created,
      added({ ...reasoning, content: [] }),
      of(
        "content_part.added",
        { content_index: 0, part: { type: "reasoning_text", text: "" } },
        "rs_1",
      ),
      of("reasoning_text.delta", { content_index: 0, delta: "Hm." }, "rs_1"),
      of("reasoning_text.done", { content_index: 0, text: "Hm." }, "rs_1"),
      done(reasoning),
      added(openMessage, 1),
      inSecond(part),
      inSecond(delta("Hello")),
      done(message(), 1),
      completed(reasoning, message()),
    ),
    sees: { text: "Hello", reasoning: "Hm." },
  },
  {
    quirk: "reasoning as a summary",
    providers: "OpenAI, Azure, xAI",
    wire: numbered(
      created,
      added({ ...summary, summary: [] }),
      of(
        "reasoning_summary_part.added",
        { summary_index: 0, part: { type: "summary_text", text: "" } },
        "rs_1",
      ),
      of("reasoning_summary_text.delta", { summary_index: 0, delta: "Hm." }, "rs_1"),
      of("reasoning_summary_text.done", { summary_index: 0, text: "Hm." }, "rs_1"),
      done(summary),
      added(openMessage, 1),
      inSecond(delta("Hello")),
      done(message(), 1),
      completed(summary, message()),
    ),
    sees: { text: "Hello", reasoning: "Hm." },
  },
  {
    quirk: "reasoning that is sealed and says nothing",
    providers: "OpenAI, xAI with store: false",
    wire: numbered(
      created,
      added({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "" }),
      done({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbA==" }),
      added(openMessage, 1),
      inSecond(delta("Hello")),
      done(message(), 1),
      completed(
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbA==" },
        message(),
      ),
    ),
    sees: hello,
  },
  {
    quirk: "citations as annotations",
    providers: "OpenAI, xAI, Azure",
    wire: numbered(
      created,
      added(openMessage),
      part,
      delta("Hello"),
      of("output_text.annotation.added", {
        content_index: 0,
        annotation_index: 0,
        annotation: {
          type: "url_citation",
          url: "https://a.example",
          title: "A",
          start_index: 0,
          end_index: 5,
        },
      }),
      done(message()),
      completed(message()),
    ),
    sees: hello,
  },
  {
    quirk: "events and fields that are not of the API",
    providers: "Azure, gateways",
    wire: numbered(
      { type: "ping" },
      created,
      { type: "response.queued", response: response({ status: "queued" }) },
      added(openMessage),
      { ...delta("Hello"), obfuscation: "abc" },
      { type: "x.vendor.event", anything: 1 },
      done(message()),
      completed(message()),
    ),
    sees: hello,
  },
] as const satisfies readonly Quirk[];
