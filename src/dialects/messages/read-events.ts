/** Reads the answers of Messages upstreams, streamed and whole. */

import type { Emit } from "../../stream/stage.ts";
import type { Frame, TurnEnd, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { EventReader, ReadContext } from "../dialect.ts";
import {
  bareError,
  malformed,
  nameless,
  strayError,
  unreadableFault,
  upstreamError,
} from "../errors/upstream-error.ts";
import { FrameRuns } from "../shared/frame-runs.ts";
import { exactJsonOf } from "../../json/exact.ts";
import { jsonOf } from "../../json/json.ts";
import { fieldsOf, filledText, listOf, numberOf, unwrapped } from "../shared/loose.ts";
import { BlocksReader } from "./read-blocks.ts";
import { isWholeUsage, readStop, stopExtra, UsageReader } from "./answer-fields.ts";

type Event = TurnEvent<UpstreamName>;

/** Fields of a message that have a place in our events. */
const known = new Set([
  "id",
  "type",
  "role",
  "model",
  "content",
  "stop_reason",
  "stop_sequence",
  "stop_details",
  "container",
  "usage",
]);

/** The field of the text in each type of delta. */
const textFields: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["input_json_delta", "partial_json"],
  ["thinking_delta", "thinking"],
]);

const WITHIN_CALL = "ended its answer in the middle of a call";

class MessagesReader implements EventReader {
  readonly #frames: boolean;
  readonly #runs = new FrameRuns();
  readonly #usage = new UsageReader();
  readonly #blocks: BlocksReader;
  #emit: Emit<Event> = () => {};
  #started = false;
  #stopped = false;
  /** An end within a call: held, because it would end the call too. */
  #heldEnd: TurnEnd | undefined;
  #over = false;

  constructor({ newId, frames }: ReadContext) {
    this.#frames = frames;
    this.#blocks = new BlocksReader(newId, (event) => this.#pass(event));
  }

  frame(data: string, name: string | undefined, partial: boolean, emit: Emit<Event>): void {
    if (this.#over || data === "") return;
    this.#emit = emit;
    this.#blocks.forwardable = true;
    if (data.startsWith("[DONE]") || data.trim() === "[DONE]") return this.end(emit);
    this.#runs.begin();
    const value = jsonOf(data);
    const raw = unwrapped(value);
    // Ignores a frame truncated by the end of the connection; the missing end reports the cut.
    if (raw === undefined) {
      const fault = partial ? undefined : unreadableFault(data, name);
      return fault && void this.#fail(fault);
    }
    const type = name === "error" ? name : (filledText(raw.type) ?? name);
    // Clients read the name of the event and not the type in it.
    if (name !== type || raw.type !== type || raw !== value) this.#blocks.markRepaired();
    const ends = this.#read(type, raw);
    if (type === "content_block_delta" && (name === type || !this.#frames))
      this.#learn(data, name, raw);
    if (!this.#frames) return;
    emit({ type: "frame", data, name: type, forwardable: this.#blocks.forwardable, ends });
  }

  run(text: string, at: number, emit: Emit<Event>): number {
    const { repeated } = this.#runs;
    const run = repeated === undefined || this.#over ? undefined : this.#runs.take(text, at);
    if (repeated === undefined || run === undefined) return at;
    this.#emit = emit;
    this.#blocks.forwardable = repeated.raw.type === "content_block_delta";
    this.#read("content_block_delta", repeated.raw);
    const forwardable = this.#blocks.forwardable;
    if (this.#frames) emit({ type: "frame", data: "", run: text.slice(at, run.end), forwardable });
    return run.end;
  }

  #learn(data: string, name: string | undefined, raw: Fields): void {
    const holder: Record<string, unknown> | undefined = fieldsOf(raw.delta);
    const key = textFields.get(holder?.type);
    const text = this.#runs.onlyDelta()?.text;
    if (holder !== undefined && key !== undefined && text !== undefined && holder[key] === text)
      this.#runs.learn(data, name, { raw, holder, key });
  }

  whole(text: string, emit: Emit<Event>): void {
    if (this.#over) return;
    this.#emit = emit;
    // The arguments of calls are values here.
    const value = exactJsonOf(text);
    const raw = unwrapped(value);
    if (raw === undefined) this.#fail(malformed("answered with something that is not JSON"));
    else this.#readWhole(raw);
    if (!this.#frames) return;
    const forwardable = this.#blocks.forwardable && raw === value && isWholeUsage(raw?.usage);
    emit({ type: "frame", data: text, forwardable, ends: "terminal", whole: true });
  }

  /** Some upstreams close the connection after the end of an answer without a last event. */
  end(emit: Emit<Event>): void {
    if (this.#over || !this.#stopped) return;
    this.#emit = emit;
    if (this.#leavesCall()) return void this.#fail(malformed(WITHIN_CALL));
    this.#over = true;
    if (!this.#frames) return;
    const data = '{"type":"message_stop"}';
    emit({ type: "frame", data, name: "message_stop", forwardable: true, ends: "terminal" });
  }

  done(): boolean {
    return this.#over;
  }

  /** Reads an event and returns what it ends. */
  #read(type: string | undefined, raw: Fields): Frame["ends"] {
    switch (type) {
      case "message_start":
        return this.#begin(fieldsOf(raw.message) ?? {});
      case "content_block_start":
        this.#start({});
        this.#blocks.start(numberOf(raw.index), fieldsOf(raw.content_block) ?? {});
        return undefined;
      case "content_block_delta":
        this.#start({});
        this.#blocks.delta(numberOf(raw.index), fieldsOf(raw.delta) ?? {}, raw);
        return undefined;
      case "content_block_stop":
        this.#runs.repeated = undefined;
        this.#blocks.stop(numberOf(raw.index));
        return undefined;
      case "message_delta":
        if (numberOf(fieldsOf(raw.usage)?.output_tokens) === undefined) this.#blocks.markRepaired();
        this.#count(raw.usage);
        this.#stop(fieldsOf(raw.delta) ?? {});
        return undefined;
      case "message_stop":
        return this.#end();
      case "ping":
        return undefined;
      case "error":
        return this.#fail(bareError(raw));
      case "message":
        this.#blocks.markRepaired();
        return this.#readWhole(raw);
      default: {
        const fault = upstreamError(raw) ?? strayError(raw);
        return fault === undefined ? undefined : this.#fail(fault);
      }
    }
  }

  #readWhole(raw: Fields): Frame["ends"] {
    if (raw.type !== "message" && listOf(raw.content) === undefined) {
      const fault = upstreamError(raw) ?? strayError(raw, true);
      return this.#fail(fault ?? malformed("answered with something that is no message"));
    }
    this.#start(raw);
    const blocks = listOf(raw.content) ?? [];
    const stop = readStop(filledText(raw.stop_reason) ?? "end_turn");
    const isCutShort = stop === "length" || stop === "filter";
    for (const [at, block] of blocks.entries())
      this.#blocks.whole(fieldsOf(block) ?? {}, isCutShort && at === blocks.length - 1);
    this.#blocks.forwardable = filledText(raw.id) !== undefined;
    this.#count(raw.usage);
    this.#stop({ ...raw, stop_reason: filledText(raw.stop_reason) ?? "end_turn" });
    return this.#end();
  }

  #begin(message: Fields): Frame["ends"] {
    // The first answer has been passed on, so a second one cannot replace it.
    if (this.#blocks.count > 0)
      return this.#fail(malformed("began another answer in the middle of one"));
    if (this.#started) this.#blocks.markRepaired();
    if (!isWholeUsage(message.usage) || listOf(message.content) === undefined)
      this.#blocks.markRepaired();
    this.#start(message);
    this.#count(message.usage);
    // Calls by code of the model are in the start, without other events.
    for (const block of listOf(message.content) ?? []) this.#blocks.whole(fieldsOf(block) ?? {});
    this.#stop(message);
    return undefined;
  }

  #start(message: Fields): void {
    if (this.#started) return;
    this.#started = true;
    const id = filledText(message.id);
    if (id === undefined) this.#blocks.markRepaired();
    const rest = Object.entries(message).filter(([key, value]) => !known.has(key) && value != null);
    this.#pass({
      type: "turn-start",
      dialect: "messages",
      ...(id && { id }),
      model: filledText(message.model),
      ...(rest.length > 0 && { extra: Object.fromEntries(rest) }),
    });
  }

  #count(raw: unknown): void {
    const usage = this.#usage.each(raw);
    if (usage !== undefined) this.#pass({ type: "usage", usage });
  }

  #stop(delta: Fields): void {
    const reason = filledText(delta.stop_reason);
    if (reason === undefined) return;
    this.#start({});
    this.#stopped = true;
    const stop = readStop(reason);
    const end: TurnEnd = { type: "turn-end", choice: 0, stop, ...stopExtra(delta) };
    if (stop === "end" && this.#blocks.hasOpenCall) this.#heldEnd = end;
    else this.#pass(end);
  }

  #end(): Frame["ends"] {
    this.#start({});
    if (this.#leavesCall()) return this.#fail(malformed(WITHIN_CALL));
    if (!this.#stopped) {
      this.#blocks.markRepaired();
      this.#stop({ stop_reason: "end_turn" });
    }
    this.#over = true;
    return "terminal";
  }

  /** Closes open blocks. True if a call is open although the answer was not cut off: its arguments may be incomplete. */
  #leavesCall(): boolean {
    const isLeft = this.#heldEnd !== undefined && this.#blocks.hasOpenCall;
    this.#blocks.end();
    if (this.#heldEnd !== undefined && !isLeft) this.#pass(this.#heldEnd);
    return isLeft;
  }

  #fail(fault: Fault): Frame["ends"] {
    this.#blocks.markRepaired();
    this.#over = true;
    this.#emit({ type: "turn-fail", fault });
    return "terminal";
  }

  /** Emits an event. A call without a name cannot be answered, so it fails the turn. */
  #pass(event: Event): void {
    if (this.#over) return;
    if (event.type === "call-start" && event.name === "") return void this.#fail(nameless());
    this.#emit(this.#runs.pass(event));
  }
}

export const readEvents = (context: ReadContext): EventReader => new MessagesReader(context);
