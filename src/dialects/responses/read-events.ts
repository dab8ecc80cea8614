/** Reads the answers of Responses upstreams, streamed and whole. */

import { jsonOf } from "../../json/json.ts";
import type { Emit } from "../../stream/stage.ts";
import type { Frame, StopReason, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import { errorWords, mergedWords, type ErrorWords } from "../errors/error-words.ts";
import {
  errorFault,
  malformed,
  strayError,
  unreadableFault,
  upstreamError,
} from "../errors/upstream-error.ts";
import { FrameRuns } from "../shared/frame-runs.ts";
import {
  counted,
  fieldsOf,
  filledText,
  listOf,
  numberOf,
  hasShape,
  unwrapped,
} from "../shared/loose.ts";
import { eventTypes } from "./kinds.ts";
import { OutputReader } from "./read-output.ts";

type Event = TurnEvent<UpstreamName>;

/** Fields of a response that have a place in our events, or hold names that clients must not see. */
const known = new Set([
  "id",
  "object",
  "created_at",
  "completed_at",
  "model",
  "status",
  "output",
  "output_text",
  "usage",
  "error",
  "incomplete_details",
  "instructions",
  "tools",
  "tool_choice",
]);

class ResponsesReader implements EventReader {
  readonly #frames: boolean;
  readonly #output: OutputReader;
  readonly #runs = new FrameRuns();
  #sequence: unknown;
  #emit: Emit<Event> = () => {};
  #started = false;
  #over = false;
  #id: string | undefined;
  #next = 0;
  /** An error event without message or cause: the `response.failed` after it may have them. */
  #error: ErrorWords | undefined;

  constructor({ newId, frames }: ReadContext) {
    this.#frames = frames;
    this.#output = new OutputReader(newId, (event) => this.#emit(this.#runs.pass(event)));
  }

  frame(data: string, name: string | undefined, partial: boolean, emit: Emit<Event>): void {
    if (data === "[DONE]" || data.trim() === "[DONE]") return this.#sentinel(emit);
    if (this.#over || data === "") return;
    this.#emit = emit;
    this.#output.forwardable = true;
    this.#runs.begin();
    const value = jsonOf(data);
    const raw = unwrapped(value);
    // Ignores a frame truncated by the end of the connection; the missing end reports the cut.
    if (raw === undefined) return partial ? undefined : this.#unreadable(data, name);
    // The name of the event marks an error, whatever its type is.
    const type = name === "error" ? name : (filledText(raw.type) ?? name);
    if (this.#error !== undefined && type !== "response.failed") return this.end(emit);
    if (raw.type !== type || raw !== value) this.#output.markRepaired();
    const sequence = this.#count(raw.sequence_number);
    const ends = this.#read(type, raw);
    if (type?.endsWith(".delta") && (name !== undefined || !this.#frames)) {
      const delta = this.#runs.onlyDelta();
      if (delta !== undefined && delta.text === raw.delta && raw.type === type)
        this.#runs.learn(data, name, { raw, holder: raw, key: "delta" });
    }
    if (!this.#frames) return;
    emit({
      type: "frame",
      data,
      name: name ?? type,
      forwardable: this.#output.forwardable,
      ends,
      sequence,
      hasAnswer: raw.response !== undefined,
    });
  }

  run(text: string, at: number, emit: Emit<Event>): number {
    const { repeated } = this.#runs;
    if (repeated === undefined || this.#over || this.#error !== undefined) return at;
    const run = this.#runs.take(text, at, Number(this.#sequence) + 1);
    if (run === undefined) return at;
    const { raw } = repeated;
    this.#emit = emit;
    this.#output.forwardable = true;
    const count = run.literals.pieces.length;
    const sequence = this.#count(
      raw.sequence_number === undefined ? undefined : Number(this.#sequence) + count,
      count,
    );
    this.#read(filledText(raw.type), raw);
    const forwardable = this.#output.forwardable;
    if (this.#frames)
      emit({
        type: "frame",
        data: "",
        run: text.slice(at, run.end),
        forwardable,
        sequence,
        hasAnswer: false,
      });
    return run.end;
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#emit = emit;
    this.#output.isWhole = true;
    const value = jsonOf(text);
    const raw = unwrapped(value);
    if (raw !== value) this.#output.markRepaired();
    if (raw === undefined) this.#fail(malformed("answered with something that is not JSON"));
    else this.#read(undefined, fieldsOf(raw.response) ?? raw);
    if (this.#frames)
      emit({
        type: "frame",
        data: text,
        forwardable: this.#output.forwardable,
        ends: "terminal",
        hasAnswer: true,
        whole: true,
      });
  }

  end(emit: Emit<Event>): void {
    if (this.#over || this.#error === undefined) return;
    this.#emit = emit;
    this.#failed({});
  }

  done(): boolean {
    return this.#over;
  }

  /** Reads an event; returns "terminal" if it ends the answer. */
  #read(type: string | undefined, raw: Fields): Frame["ends"] {
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        if (!this.#started && type !== "response.created") this.#output.markRepaired();
        if (this.#frames && !isComplete(fieldsOf(raw.response) ?? {})) this.#output.markRepaired();
        this.#start(fieldsOf(raw.response) ?? {});
        return undefined;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        return this.#end(fieldsOf(raw.response) ?? {}, type.slice("response.".length));
      case "response.done":
        this.#output.markRepaired();
        return this.#end(fieldsOf(raw.response) ?? {}, "completed");
      case "response.output_item.added":
        this.#runs.repeated = undefined;
        if (!this.#started) this.#startUnannounced();
        this.#output.added(raw);
        return undefined;
      case "response.output_item.done":
        this.#runs.repeated = undefined;
        if (!this.#started) this.#startUnannounced();
        this.#output.done(raw);
        return undefined;
      case "error":
        return this.#readError(errorWords(raw) ?? {});
      case undefined:
        return this.#untyped(raw);
      default:
        if (!this.#started || !eventTypes.has(type)) this.#output.markRepaired();
        // An unknown event is ignored unless it is about an item.
        if (raw.output_index === undefined && raw.item_id === undefined && !isItemEvent(type)) {
          // Some errors have another type.
          const unmarked = type.startsWith("response.") ? undefined : strayError(raw);
          const fault = upstreamError(raw) ?? unmarked;
          return fault === undefined ? undefined : this.#fail(fault);
        }
        if (!this.#started) this.#startUnannounced();
        this.#output.each(type, raw);
        return undefined;
    }
  }

  /** A response or an error, instead of an event about one. */
  #untyped(raw: Fields): Frame["ends"] {
    if (!this.#output.isWhole) this.#output.markRepaired();
    const isResponse =
      raw.object === "response" || Array.isArray(raw.output) || filledText(raw.output_text);
    if (isResponse) {
      this.#start(raw);
      return this.#end(raw, filledText(raw.status) ?? "completed");
    }
    const fault = upstreamError(raw) ?? strayError(raw, this.#output.isWhole);
    if (fault !== undefined) return this.#fail(fault);
    return this.#output.isWhole || Object.keys(raw).length > 0
      ? this.#fail(malformed("answered with something that is no response"))
      : undefined;
  }

  #start(response: Fields): void {
    const id = filledText(response.id);
    if (this.#started) {
      if (id !== this.#id) this.#output.markRepaired();
      return;
    }
    this.#started = true;
    this.#id = id;
    if (id === undefined) this.#output.markRepaired();
    const extra = Object.fromEntries(Object.entries(response).filter(([key]) => !known.has(key)));
    this.#emit({
      type: "turn-start",
      dialect: "responses",
      ...(id && { id }),
      model: filledText(response.model),
      created: numberOf(response.created_at),
      ...(Object.keys(extra).length > 0 && { extra }),
    });
  }

  /** Starts a turn whose items come without `response.created`. */
  #startUnannounced(): void {
    this.#output.markRepaired();
    this.#start({});
  }

  #end(response: Fields, endType: string): Frame["ends"] {
    const given = filledText(response.status) ?? endType;
    if (response.status !== endType || (this.#frames && !isComplete(response)))
      this.#output.markRepaired();
    const status = endType === "completed" && given !== "in_progress" ? given : endType;
    if (status === "failed" || status === "cancelled" || response.error)
      return this.#failed(errorWords(response.error) ?? { code: status });
    // A response made in the background is sent before it is made; only a client of this dialect can poll for it.
    if ((status === "queued" || status === "in_progress") && !this.#frames)
      return this.#fail(malformed(`answered with a response that is still ${status}`));
    if (!this.#started) this.#startUnannounced();
    else if (filledText(response.id) !== this.#id) this.#output.markRepaired();
    const isCut = status === "incomplete";
    this.#output.end(response.output, response.output_text, !isCut);
    const usage = counted(response.usage);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    const stop = isCut ? cutBy(fieldsOf(response.incomplete_details)) : "end";
    this.#emit({ type: "turn-end", choice: 0, stop });
    this.#over = true;
    return "terminal";
  }

  /** The API sends an error as an event and once more in the response that failed. */
  #readError(words: ErrorWords): Frame["ends"] {
    const cause = words.code ?? words.type ?? words.status;
    if (words.message !== undefined && cause !== undefined) return this.#failed(words);
    this.#output.markRepaired();
    this.#error = words;
    return undefined;
  }

  #failed(words: ErrorWords): Frame["ends"] {
    return this.#fail(errorFault(mergedWords(this.#error ?? {}, words)));
  }

  #fail(fault: Fault): Frame["ends"] {
    // The writer sends a failure in every form its dialect has; the upstream may have sent one of them.
    this.#output.markRepaired();
    this.#over = true;
    this.#emit({ type: "turn-fail", fault });
    return "terminal";
  }

  #sentinel(emit: Emit<Event>): void {
    this.end(emit);
    const forwardable = this.#over;
    this.#over = true;
    if (this.#frames) emit({ type: "frame", data: "[DONE]", forwardable, ends: "done" });
  }

  #unreadable(data: string, name: string | undefined): void {
    const fault = unreadableFault(data, name);
    if (fault === undefined) return;
    // It could only have repeated the request: nothing of the answer is lost.
    if (isLifecycle(data, name)) {
      if (!this.#started) this.#startUnannounced();
      return;
    }
    this.#fail(fault);
  }

  /** The number of a frame, or of the last frame of a run, if it is right. */
  #count(sequence: unknown, frames = 1): number | undefined {
    const expected = (this.#next += frames) - 1;
    this.#sequence = sequence;
    if (sequence === expected) return expected;
    this.#output.markRepaired();
    return undefined;
  }
}

export const readEvents = (context: ReadContext): EventReader => new ResponsesReader(context);

const isItemEvent = (type: string): boolean =>
  /^response\.(output_text|refusal|content_part|reasoning|function_call_arguments|custom_tool_call_input)/.test(
    type,
  );

/** True if a frame that cannot be parsed opens an answer. */
function isLifecycle(data: string, name: string | undefined): boolean {
  const type = name ?? /^\s*\{\s*"type"\s*:\s*"([^"]*)"/.exec(data)?.[1];
  return type !== undefined && /^response\.(created|queued|in_progress)$/.test(type);
}

const cutBy = (details: Fields | undefined): StopReason =>
  details?.reason === "content_filter" ? "filter" : "length";

/** Fields that every response object of the API has at any moment. */
const ofResponses =
  "id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key".split(
    " ",
  );
const ofFunctions = ["name", "description", "parameters", "strict"];
const ofUsage = {
  input_tokens: "number",
  input_tokens_details: "fields",
  output_tokens: "number",
  output_tokens_details: "fields",
  total_tokens: "number",
} as const;

/** True if the response object can be shown to a client that relies on all of its fields. */
const isComplete = (response: Fields): boolean =>
  hasAll(response, ofResponses) &&
  (listOf(response.tools) ?? []).every(isWholeTool) &&
  (response.usage === null || isWholeUsage(response.usage));

const isWholeUsage = (usage: unknown): boolean =>
  hasShape(usage, ofUsage) &&
  hasShape(usage.input_tokens_details, { cached_tokens: "number" }) &&
  hasShape(usage.output_tokens_details, { reasoning_tokens: "number" });

function isWholeTool(tool: unknown): boolean {
  const fields = fieldsOf(tool);
  return fields !== undefined && (fields.type !== "function" || hasAll(fields, ofFunctions));
}

const hasAll = (fields: Fields, keys: readonly string[]): boolean =>
  keys.every((key) => fields[key] !== undefined);
