import { expect } from "vitest";
import type { Body } from "./fake-upstream.ts";
import { framesOf, type ClientAnswer } from "./client-answer.ts";

const TERMINALS = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** The events of a Responses stream, each law of the dialect checked on the way. */
export function readResponsesEvents(text: string): Body[] {
  const frames = framesOf(text);
  expect(frames.at(-1)?.data, "the last frame").toBe("[DONE]");
  const events = frames.slice(0, -1).map(({ event, data }) => {
    const parsed = JSON.parse(data) as Body;
    if (event !== undefined) expect(event).toBe(parsed["type"]);
    return parsed;
  });
  expect(events[0]?.["type"]).toBe("response.created");
  expect(events.map((event) => event["sequence_number"] as number)).toEqual([...events.keys()]);
  const terminals = events.filter((event) => TERMINALS.has(event["type"] as string));
  expect(terminals.length, "one terminal").toBe(1);
  const last = events.at(-1) as Body;
  expect(terminals[0], "the terminal is the last event").toBe(last);
  const failed = last["type"] === "response.failed";
  expect(events.some((event) => event["type"] === "error")).toBe(failed);
  expect(last["response"].status).toBe((last["type"] as string).slice("response.".length));
  for (const event of events)
    if (event["response"]) expect(event["response"].id).toBe(last["response"].id);
  checkItems(events, last["response"].output as Body[]);
  return events;
}

function checkItems(events: readonly Body[], output: readonly Body[]): void {
  const open = new Map<number, Body>();
  const closed: Body[] = [];
  const ids = new Set<string>();
  const callIds = new Set<string>();
  const grown = new Map<string, string>();
  for (const event of events) {
    const { type, output_index: at, item, item_id: id } = event as Body & { type: string };
    if (type === "response.output_item.added") {
      expect(at, "items are numbered in order").toBe(open.size);
      expect(ids.has(item.id), `id ${item.id} is used once`).toBe(false);
      ids.add(item.id);
      if (item.call_id && item.type.endsWith("_call")) {
        expect(callIds.has(item.call_id), `call id ${item.call_id} is used once`).toBe(false);
        callIds.add(item.call_id);
      }
      open.set(at, item);
    } else if (type === "response.output_item.done") {
      const opened = open.get(at);
      expect(opened, "an item is added before it is done").toBeDefined();
      expect(closed[at], "an item is done once").toBeUndefined();
      expect(item).toMatchObject({ id: opened?.["id"], type: opened?.["type"] });
      if (item.type === "function_call" || item.type === "custom_tool_call")
        expect(item).toMatchObject({ call_id: opened?.["call_id"], name: opened?.["name"] });
      closed[at] = item;
    } else if (id !== undefined) {
      expect(id, `${type} belongs to the item at its index`).toBe(open.get(at)?.["id"]);
      expect(closed[at], `${type} comes before its item is done`).toBeUndefined();
      checkGrowth(event as Body & { type: string }, grown);
    }
  }
  for (const [at, item] of open) {
    if (closed[at] !== undefined) continue;
    expect(item["type"], "every item is done but calls").toMatch(/^(?:function|custom_tool)_call$/);
    expect(events.at(-1)?.["type"], "and those that were cut off").not.toBe("response.completed");
  }
  expect(output.map(unsealed), "the output is the items that were done").toEqual(
    closed.filter((item) => item !== undefined).map(unsealed),
  );
}

/** Without what the API seals anew each time it says it, and the chances of each word. */
export function unsealed(item: Body): Body {
  const { encrypted_content: _, fingerprint: __, ...rest } = item;
  if (item["type"] !== "message" || !Array.isArray(item["content"])) return rest;
  const content = (item["content"] as Body[]).map((part) =>
    Object.assign({}, part, { logprobs: [] }),
  );
  return { ...rest, content };
}

/** What the deltas said is what their `.done` says. */
function checkGrowth(event: Body & { type: string }, grown: Map<string, string>): void {
  const { type } = event;
  const part = event["content_index"] ?? event["summary_index"] ?? "";
  const key = `${type.slice(0, type.lastIndexOf("."))} ${event["item_id"]} ${part}`;
  if (type.endsWith(".delta")) grown.set(key, (grown.get(key) ?? "") + event["delta"]);
  const whole = event["text"] ?? event["refusal"] ?? event["arguments"] ?? event["input"];
  if (
    type.endsWith(".done") &&
    typeof whole === "string" &&
    /text|refusal|arguments|input/.test(type)
  )
    expect(grown.get(key) ?? "", `what ${key} came to`).toBe(whole);
}

export function readResponsesStream(text: string): ClientAnswer {
  const events = readResponsesEvents(text);
  const told = readResponsesBody(events.at(-1)?.["response"] as Body);
  return { ...told, error: events.find((event) => event["type"] === "error") };
}

export function readResponsesBody(response: Body): ClientAnswer {
  const output = response["output"] as Body[];
  const parts = output
    .filter((item) => item["type"] === "message")
    .flatMap((item) => item["content"]);
  const join = (type: string, key: string): string =>
    parts
      .filter((part) => part.type === type)
      .map((part) => part[key] as string)
      .join("");
  return {
    text: join("output_text", "text"),
    refusal: join("refusal", "refusal"),
    reasoning: output
      .filter((item) => item["type"] === "reasoning")
      .flatMap((item) => ((item["summary"] ?? []) as Body[]).concat(item["content"] ?? []))
      .map((part) => part["text"] as string)
      .join(""),
    calls: output
      .filter((item) => /^(?:function|custom_tool)_call$/.test(item["type"] as string))
      .map((item) => ({
        id: item["call_id"] as string,
        kind: item["type"] === "function_call" ? "function" : "custom",
        name: item["name"] as string,
        input: (item["arguments"] ?? item["input"]) as string,
        complete: item["status"] !== "incomplete",
      })),
    stop: response["incomplete_details"]?.reason ?? response["status"],
    error: undefined,
  };
}
