import { describe, expect, it } from "vitest";
import {
  call,
  callEnd,
  choice,
  context,
  end,
  input,
  named,
  plain,
  responseOf,
  start,
  text,
  types,
  write,
  type Event,
} from "../../../test/support/responses-writing.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName } from "../../turn/names.ts";
import { readRequest } from "./read-request.ts";
import { writeEvents } from "./write-events.ts";

describe("a Responses stream", () => {
  it("shows the first choice it hears of, whatever its number", () => {
    const said = write([
      start,
      { type: "text-delta", choice: 1, text: "Hi" },
      { type: "text-delta", choice: 2, text: "Ho" },
      { type: "turn-end", choice: 1, stop: "end" },
      { type: "turn-end", choice: 2, stop: "end" },
    ]);
    expect(responseOf(said)).toMatchObject({
      status: "completed",
      output: [{ content: [{ text: "Hi" }] }],
    });
  });

  it("tells a text from its announcement to its end", () => {
    const said = write([start, text("Hel"), text("lo"), end]);
    expect(types(said)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const part = { type: "output_text", text: "Hello", annotations: [], logprobs: [] };
    const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
    expect(said[3]).toMatchObject({ ...at, part: { ...part, text: "" } });
    expect(said[4]).toMatchObject({ ...at, delta: "Hel", logprobs: [] });
    expect(said[6]).toMatchObject({ ...at, text: "Hello", logprobs: [] });
    expect(said[7]).toMatchObject({ ...at, part });
    const item = { id: "msg_1", type: "message", status: "completed", role: "assistant" };
    expect(said[2]).toMatchObject({ item: { ...item, status: "in_progress", content: [] } });
    expect(said[8]).toMatchObject({ item: { ...item, content: [part] } });
    expect(responseOf(said)).toMatchObject({
      id: "resp_1",
      status: "completed",
      model: "big",
      created_at: 100,
      completed_at: 105,
      output: [{ ...item, content: [part] }],
    });
  });

  it("shows a part that has nothing but an annotation without a form here", () => {
    const note = { type: "text-note", choice, annotation: { type: "char_location" } } as const;
    const said = write([start, note, { type: "text-break", choice }, text("a"), end]);
    const places = named(said, "response.content_part.done").map(
      ({ content_index }) => content_index,
    );
    expect(places).toEqual([0, 1]);
    expect(named(said, "response.output_text.delta")).toMatchObject([{ content_index: 1 }]);
    expect(responseOf(said)).toMatchObject({
      output: [{ content: [{ text: "" }, { text: "a" }] }],
    });
    const alone = write([start, note, end]);
    expect(named(alone, "response.content_part.done")).toMatchObject([{ content_index: 0 }]);
  });

  it("numbers its events from 0 without gaps, or from where it is told to go on", () => {
    const said = write([start, text("a"), call(), end]);
    expect(said.map((event) => event.sequence_number)).toEqual([...said.keys()]);

    const writer = writeEvents(readRequest(plain), context());
    const out: string[] = [];
    writer.each(start, () => {});
    writer.resumeAt?.(40);
    writer.each({ type: "text-start", choice }, (frame) => out.push(frame));
    expect(out.join("")).toContain('"sequence_number":40}');
  });

  it("keeps the ids of an upstream of the same dialect, and never uses one twice", () => {
    const said = write([
      { type: "turn-start", dialect: "responses", id: "resp_up", created: 7 },
      { type: "text-start", choice, id: "msg_up" },
      text("a"),
      { type: "text-end", choice },
      { type: "text-start", choice, id: "msg_up" },
      text("b"),
      call({ itemId: "fc_up" }),
      end,
    ]);
    expect(responseOf(said)).toMatchObject({
      id: "resp_up",
      created_at: 7,
      output: [{ id: "msg_up" }, { id: "msg_1" }, { id: "fc_up", call_id: "call_1" }],
    });
  });

  it("gives each part of a message its own events", () => {
    const said = write([
      start,
      text("one"),
      { type: "text-break", choice },
      text("two"),
      { type: "text-note", choice, annotation: { type: "file", file: { name: "f.pdf" } } },
      { type: "text-note", choice, annotation: { type: "url_citation", url: "u" } },
      { type: "refusal-delta", choice, text: "no" },
      end,
    ]);
    expect(types(said).slice(3, -2)).toEqual([
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.annotation.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.content_part.added",
      "response.refusal.delta",
      "response.refusal.done",
      "response.content_part.done",
    ]);
    expect(named(said, "response.output_text.annotation.added")).toMatchObject([
      {
        content_index: 1,
        annotation_index: 0,
        annotation: { type: "url_citation", url: "u", title: "u", start_index: 0, end_index: 0 },
      },
    ]);
    expect(named(said, "response.refusal.done")).toMatchObject([
      { content_index: 2, refusal: "no" },
    ]);
    expect(responseOf(said).output).toMatchObject([
      {
        content: [
          { text: "one", annotations: [] },
          { text: "two", annotations: [{ url: "u" }] },
          { type: "refusal", refusal: "no" },
        ],
      },
    ]);
  });

  it("completes logprobs that lack what the API requires", () => {
    const said = write([
      start,
      {
        type: "text-delta",
        choice,
        text: "a",
        logprobs: [{ token: "a", logprob: -1, bytes: null, top_logprobs: [{ token: "b" }] }],
      },
      end,
    ]);
    const whole = [
      { token: "a", logprob: -1, bytes: [], top_logprobs: [{ token: "b", bytes: [] }] },
    ];
    expect(named(said, "response.output_text.delta")).toMatchObject([{ logprobs: whole }]);
    expect(named(said, "response.output_text.done")).toMatchObject([{ logprobs: whole }]);
  });

  it("tells reasoning by its summary, by its content, and by its seal alone", () => {
    const think = (of: "summary" | "content", part: number, said: string): Event => ({
      type: "reasoning-delta",
      choice,
      of,
      part,
      text: said,
    });
    const said = write([
      start,
      think("summary", 0, "first"),
      think("summary", 1, "second"),
      { type: "reasoning-end", choice, encrypted: "sealed" },
      { type: "reasoning-start", choice },
      think("content", 0, "raw"),
      { type: "reasoning-end", choice },
      { type: "reasoning-end", choice, encrypted: "only" },
      end,
    ]);
    expect(types(said).slice(2, -1)).toEqual([
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.reasoning_text.delta",
      "response.reasoning_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.output_item.done",
    ]);
    expect(responseOf(said).output).toEqual([
      {
        id: "rs_1",
        type: "reasoning",
        summary: [
          { type: "summary_text", text: "first" },
          { type: "summary_text", text: "second" },
        ],
        encrypted_content: "sealed",
      },
      {
        id: "rs_2",
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: "raw" }],
      },
      { id: "rs_3", type: "reasoning", summary: [], encrypted_content: "only" },
    ]);
  });

  it("says of reasoning that has only begun no status that a client could keep for its end", () => {
    const thought: Event = { type: "reasoning-delta", choice, of: "content", part: 0, text: "raw" };
    const said = write([start, thought, { type: "reasoning-end", choice }, end]);
    const announced = { id: "rs_1", type: "reasoning", summary: [] };
    expect(named(said, "response.output_item.added")).toMatchObject([{ item: announced }]);
    expect(named(said, "response.output_item.added")[0]).not.toHaveProperty("item.status");

    const cut = write([start, thought, { type: "reasoning-end", choice, complete: false }, end]);
    expect(named(cut, "response.output_item.done")).toMatchObject([
      { item: { id: "rs_1", status: "incomplete" } },
    ]);
  });

  it("tells parallel calls apart while they are made", () => {
    const said = write([
      start,
      call({ namespace: "files" }),
      call({ call: 1, id: "call_2", kind: "custom", name: clientName("patch") }),
      input("*** ", 1),
      input('{"a"'),
      input(":1}"),
      input("Begin", 1),
      end,
    ]);
    expect(named(said, "response.function_call_arguments.delta")).toMatchObject([
      { item_id: "fc_1", output_index: 0, delta: '{"a"' },
      { item_id: "fc_1", output_index: 0, delta: ":1}" },
    ]);
    expect(named(said, "response.function_call_arguments.done")).toMatchObject([
      { item_id: "fc_1", output_index: 0, arguments: '{"a":1}', name: "look" },
    ]);
    expect(named(said, "response.custom_tool_call_input.done")).toMatchObject([
      { item_id: "ctc_2", output_index: 1, input: "*** Begin" },
    ]);
    expect(responseOf(said).output).toEqual([
      {
        id: "fc_1",
        type: "function_call",
        call_id: "call_1",
        name: "look",
        namespace: "files",
        arguments: '{"a":1}',
        status: "completed",
      },
      {
        id: "ctc_2",
        type: "custom_tool_call",
        call_id: "call_2",
        name: "patch",
        input: "*** Begin",
        status: "completed",
      },
    ]);
  });

  it.each([
    ["local_shell", "local_shell_call", "action", { type: "exec", command: ["ls"], env: {} }],
    ["shell", "shell_call", "action", { commands: ["ls"], timeout_ms: null }],
    ["apply_patch", "apply_patch_call", "operation", { type: "delete_file", path: "a" }],
    ["tool_search", "tool_search_call", "arguments", { goal: "weather" }],
  ])("gives a %s call back as the item it is", (kind, type, field, value) => {
    const json = JSON.stringify(value);
    const said = write([
      start,
      call({ kind, name: clientName(kind) }),
      input(json.slice(0, 5)),
      input(json.slice(5)),
      callEnd(),
      end,
    ]);
    expect(types(said).slice(2, -1)).toEqual([
      "response.output_item.added",
      "response.output_item.done",
    ]);
    const item = { type, call_id: "call_1", [field]: value };
    expect(said[2]).toMatchObject({ output_index: 0, item: { ...item, status: "in_progress" } });
    expect(responseOf(said).output).toMatchObject([{ ...item, status: "completed" }]);
  });

  it("fills in what a shell call of another dialect lacks, and nothing for one that came as such", () => {
    const shell = (more: object): unknown =>
      responseOf(
        write([
          start,
          call({ kind: "shell", name: clientName("shell"), ...more }),
          input('{"commands":[]}'),
          callEnd(),
          end,
        ]),
      ).output;
    expect(shell({})).toMatchObject([{ environment: null }]);
    expect(shell({ itemId: "sh_1" })).not.toMatchObject([{ environment: null }]);
  });

  it("shows a malformed action in the shape of one, and half of one not at all", () => {
    const shell = call({ kind: "local_shell", name: clientName("local_shell") });
    const whole = write([start, shell, input("ls -l"), callEnd(), end]);
    expect(responseOf(whole).output).toMatchObject([{ action: { command: ["ls -l"] } }]);
    const half = write([
      start,
      shell,
      input('{"command":["rm"'),
      callEnd(false),
      { type: "turn-end", choice, stop: "length" },
    ]);
    expect(responseOf(half)).toMatchObject({ status: "incomplete", output: [] });
  });

  it("shows items that the upstream works on, under its own numbers", () => {
    const raw = { type: "web_search_call", id: "ws_1", status: "in_progress" };
    const said = write([
      start,
      text("a"),
      { type: "item-start", choice, item: 0, dialect: "responses", raw },
      {
        type: "item-note",
        choice,
        item: 0,
        dialect: "responses",
        raw: {
          type: "response.web_search_call.searching",
          item_id: "ws_1",
          output_index: 9,
          sequence_number: 9,
        },
      },
      {
        type: "item-note",
        choice,
        item: 0,
        dialect: "responses",
        raw: { type: "response.x_search.going" },
      },
      {
        type: "item-end",
        choice,
        item: 0,
        dialect: "responses",
        raw: { ...raw, status: "completed" },
      },
      { type: "item-start", choice, item: 1, dialect: "responses", raw: { type: "x_search_call" } },
      end,
    ]);
    expect(named(said, "response.web_search_call.searching")).toMatchObject([
      { item_id: "ws_1", output_index: 1 },
    ]);
    expect(types(said)).not.toContain("response.x_search.going");
    expect(said.map((event) => event.sequence_number)).toEqual([...said.keys()]);
    expect(responseOf(said).output).toMatchObject([
      { type: "message" },
      { id: "ws_1", status: "completed" },
      { type: "x_search_call", id: "item_2" },
    ]);
  });

  it("says why it is incomplete, and which item", () => {
    const cut = (stop: "length" | "filter", ...events: Event[]) =>
      responseOf(write([start, ...events, { type: "turn-end", choice, stop }]));
    expect(cut("length", text("Hel"))).toMatchObject({
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete" }],
    });
    expect(cut("filter", call(), input('{"a'))).toMatchObject({
      incomplete_details: { reason: "content_filter" },
      output: [{ type: "function_call", arguments: '{"a', status: "incomplete" }],
    });
  });

  it("ends a failure with both its events and nothing completed", () => {
    const fault = new Fault("upstream.rate_limited", "Slow down.", {
      upstreamCode: "rate_limit_exceeded",
    });
    const said = write([start, text("Hel"), call(), { type: "turn-fail", fault }]);
    expect(types(said).slice(-2)).toEqual(["error", "response.failed"]);
    const error = { code: "rate_limit_exceeded", message: "Slow down." };
    expect(said.at(-2)).toMatchObject({
      ...error,
      param: null,
      error: { ...error, type: "rate_limit_error", param: null },
    });
    expect(responseOf(said)).toMatchObject({
      status: "failed",
      error,
      completed_at: null,
      output: [{ type: "message" }],
    });
  });

  it("never closes a call that was cut off and could be run all the same", () => {
    const cut = (started: Event, said: string) =>
      write([
        start,
        started,
        input(said),
        callEnd(false),
        { type: "turn-end", choice, stop: "length" },
      ]);
    const custom = call({ kind: "custom" });
    const shell = call({ kind: "local_shell" });
    const whole = '{"command":["rm"]}';
    for (const [started, said] of [
      [call(), whole],
      [call(), " "],
      [custom, "half a prog"],
      [shell, whole],
    ] as const) {
      const events = cut(started, said);
      expect(types(events).filter((type) => type.endsWith(".done"))).toEqual([]);
      expect(responseOf(events)).toMatchObject({ status: "incomplete", output: [] });
    }
    expect(responseOf(cut(call(), '{"command":["rm"'))).toMatchObject({
      output: [{ status: "incomplete", arguments: '{"command":["rm"' }],
    });
  });

  it("is a whole stream even if it fails before it starts", () => {
    const fault = new Fault("upstream.empty", "Nothing.");
    expect(types(write([{ type: "turn-fail", fault }]))).toEqual([
      "response.created",
      "response.in_progress",
      "error",
      "response.failed",
    ]);
  });

  it("shows the first of several choices and is silent about the others", () => {
    const said = write([
      start,
      text("shown"),
      { type: "text-delta", choice: 1, text: "hidden" },
      end,
      { type: "turn-end", choice: 1, stop: "end" },
    ]);
    expect(JSON.stringify(said)).not.toContain("hidden");
    expect(named(said, "response.completed")).toHaveLength(1);
  });

  it("counts tokens at the end", () => {
    const usage = { input: 5, output: 3, total: 8, cached: 2, reasoning: 1 };
    const said = write([start, { type: "usage", usage }, text("a"), end]);
    expect(responseOf(said).usage).toEqual({
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 8,
    });
  });
});
