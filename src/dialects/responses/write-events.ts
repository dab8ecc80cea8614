import { sseDone } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type { EventOf, CallStart, TurnEvent, TurnStart, Usage } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Fields, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { faultBody } from "../errors/fault-body.ts";
import { literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { lossReporter, losePause, type OnLoss } from "../shared/losses.ts";
import { type CallKind, callKindOf, canRun, isHostedEvent } from "./kinds.ts";
import {
  callText,
  messageText,
  outputItemText,
  writeLogprobs,
  writeResponsesAnnotation,
} from "./items.ts";
import {
  failedStatus,
  loseExtra,
  loseItem,
  loseSignature,
  ResponseObject,
  statusOf,
  type Progress,
} from "./resource.ts";

type Event<Type extends TurnEvent<ClientName>["type"]> = EventOf<Type, ClientName>;

/** The text of an event. Its number is the last field. */
export const frameText = (type: string, fields: string, sequence: number): string =>
  `event: ${type}\ndata: {"type":"${type}",${fields},"sequence_number":${sequence}}\n\n`;

/** The place of an item in the answer; `fields`: id and index as the fields of an event. */
type Place = { readonly id: string; readonly index: number; readonly fields: string };

/** The events and fields of each type of part. */
const partForms = {
  output_text: { of: "content", part: "response.content_part", text: "response.output_text" },
  refusal: { of: "content", part: "response.content_part", text: "response.refusal" },
  reasoning_text: { of: "content", part: "response.content_part", text: "response.reasoning_text" },
  summary_text: {
    of: "summary",
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
  },
} as const;
type PartType = keyof typeof partForms;

type Part = {
  readonly type: PartType;
  /** Item and index as the fields of an event, and the text of a delta event up to the delta. */
  readonly where: string;
  readonly head: string;
  text: string;
  readonly annotations: Fields[];
  readonly logprobs: unknown[];
};

type OpenMessage = {
  readonly place: Place;
  readonly phase: string | undefined;
  /** Closed parts as JSON text. */
  readonly parts: string[];
  part: Part | undefined;
  /** True if the next text begins another part. */
  isFresh: boolean;
};

type OpenReasoning = {
  readonly place: Place;
  readonly summary: Part[];
  readonly content: Part[];
};

/** A call that still grows. One whose input has no events has no place before its end. */
type OpenCall = {
  readonly start: CallStart<ClientName>;
  readonly kind: CallKind;
  readonly place: Place | undefined;
  readonly head: string;
  input: string;
};

const NUMBER = ',"sequence_number":';
const TEXT_TAIL = `,"logprobs":[]${NUMBER}`;

/**
 * Writes a stream for the strictest reader: every item announced before its
 * deltas and closed before the end, except calls that were cut off and must
 * not be run; one terminal event, which contains exactly the items that were closed.
 * The API has one choice; of several the first is shown.
 */
export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new ResponsesWriter(turn, context);

class ResponsesWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #lose: OnLoss;
  #out: Emit<string> = discard;
  #sequence = 0;
  /** The choice that is shown. Some upstreams number their only choice otherwise than from 0. */
  #choice: number | undefined;
  #response: ResponseObject | undefined;
  #usage: Usage | undefined;
  #isOver = false;
  readonly #ids = new Set<string>();
  /** Closed items as JSON text, by their indexes. */
  readonly #closed: (string | undefined)[] = [];
  #items = 0;
  #message: OpenMessage | undefined;
  #reasoning: OpenReasoning | undefined;
  readonly #calls = new Map<number, OpenCall>();
  /** Items that the upstream works on itself. */
  readonly #hosted = new Map<number, { readonly place: Place; readonly raw: Fields }>();

  constructor(turn: Turn, context: WriteContext) {
    this.#turn = turn;
    this.#context = context;
    this.#lose = lossReporter("responses", context.report);
  }

  each(event: TurnEvent<ClientName>, emit: Emit<string>): void {
    if ("choice" in event && event.choice !== (this.#choice ??= event.choice)) return;
    this.#out = emit;
    switch (event.type) {
      case "text-delta":
        return this.#writeText(event);
      case "call-delta": {
        const call = this.#calls.get(event.call);
        if (call === undefined) return;
        call.input += event.text;
        return call.place === undefined ? undefined : this.#deltas(call.head, event, NUMBER);
      }
      case "reasoning-delta":
        return this.#think(event);
      case "turn-start": {
        const { dialect = "responses", extra: fields } = event;
        if (fields !== undefined) loseExtra({ dialect, fields }, 0, this.#lose);
        this.#begin(event);
        return;
      }
      case "text-start":
        return this.#openMessage(event);
      case "text-break": // The next text shows it.
        if (this.#message !== undefined) this.#message.isFresh = true;
        return;
      case "text-note":
        return this.#note(event.annotation);
      case "text-end":
        return this.#endMessage(event);
      case "refusal-delta":
        return this.#refuse(event);
      case "reasoning-start":
        return this.#openReasoning(event);
      case "reasoning-end":
        return this.#endReasoning(event);
      case "call-start":
        return this.#openCall(event);
      case "call-end":
        return this.#endCall(event);
      case "item-start":
      case "item-note":
      case "item-end":
        return event.dialect === "responses"
          ? this.#showHosted(event)
          : loseItem(event, this.#lose);
      case "vendor-extra":
        return event.of === "reasoning"
          ? undefined
          : loseExtra(event.extra, event.choice, this.#lose);
      case "usage":
        this.#usage = event.usage;
        return;
      case "turn-end": {
        losePause(event, this.#lose);
        const { stop } = event;
        const status = statusOf(stop);
        const completedAt = status === "completed" ? this.#context.now() : undefined;
        return this.#finish({ status, stop, completedAt });
      }
      case "turn-fail":
        return this.#finish({ status: failedStatus(event.fault), fault: event.fault });
      case "frame":
        return;
      default:
        event satisfies never;
    }
  }

  end(emit: Emit<string>): void {
    if (this.#isOver) emit((this.#context.closingComment?.() ?? "") + sseDone);
  }

  resumeAt(sequence: number): void {
    this.#sequence = sequence;
  }

  #frame(type: string, fields: string): void {
    const sequence = this.#sequence++;
    if (this.#out !== discard) this.#out(frameText(type, fields, sequence));
  }

  /** Writes a frame for each piece of a text. */
  #deltas(head: string, pieces: Pieces, tail: string): void {
    const literals = literalsOf(pieces);
    const sequence = this.#sequence;
    this.#sequence += literals.length;
    if (this.#out === discard) return;
    let frames = "";
    // An iterator makes an object for each of a thousand pieces.
    for (let at = 0; at < literals.length; at++)
      frames += `${head}"${literals[at]}"${tail}${sequence + at}}\n\n`;
    this.#out(frames);
  }

  /** The first and the last events: those about the response as a whole. */
  #begin(event: TurnStart): ResponseObject {
    const response = (this.#response = new ResponseObject(this.#turn, event, this.#context));
    const fields = `"response":${response.shown({ status: "in_progress" })}`;
    this.#frame("response.created", fields);
    this.#frame("response.in_progress", fields);
    return response;
  }

  #finish(progress: Progress): void {
    for (const [item, { raw }] of this.#hosted) this.#endHosted(item, raw);
    const output = this.#closed.filter((item) => item !== undefined);
    const last: Progress = { ...progress, output, usage: this.#usage };
    // A turn may fail before its upstream sends anything.
    const response = this.#response ?? this.#begin({ type: "turn-start" });
    if (last.fault !== undefined) {
      // The API has the fields side by side, the open schema in an object.
      const { error } = faultBody(last.fault);
      const { code, message, param } = error;
      this.#frame("error", JSON.stringify({ code, message, param, error }).slice(1, -1));
    }
    const name = last.status === "cancelled" ? "failed" : last.status;
    this.#frame(`response.${name}`, `"response":${response.shown(last)}`);
    this.#isOver = true;
    response.record(last);
  }

  /** Announces an item. An id that another item has already is not used again. */
  #add(given: string | undefined, prefix: string, item: (id: string) => string): Place {
    const id = given === undefined || this.#ids.has(given) ? this.#context.newId(prefix) : given;
    this.#ids.add(id);
    const index = this.#items++;
    this.#frame("response.output_item.added", `"output_index":${index},"item":${item(id)}`);
    return { id, index, fields: `"item_id":${JSON.stringify(id)},"output_index":${index}` };
  }

  /** Closes an item; the last event and the store contain the same text of it. */
  #done({ id, index }: Place, item: string): void {
    this.#closed[index] = item;
    this.#context.keep?.(id, item);
    this.#frame("response.output_item.done", `"output_index":${index},"item":${item}`);
  }

  #openMessage({ id, phase }: Event<"text-start">): void {
    const place = this.#add(id, "msg", (id) =>
      messageText({ status: "in_progress", phase }, id, ""),
    );
    this.#message = { place, phase, parts: [], part: undefined, isFresh: true };
  }

  #writeText(event: Event<"text-delta">): void {
    const message = this.#message;
    if (message === undefined) return;
    const part = this.#partOf(message, "output_text");
    part.text += event.text;
    if (event.logprobs === undefined) return this.#deltas(part.head, event, TEXT_TAIL);
    const logprobs = writeLogprobs(event.logprobs);
    for (const one of logprobs) part.logprobs.push(one);
    this.#deltas(part.head, event, `,"logprobs":${JSON.stringify(logprobs)}${NUMBER}`);
  }

  #refuse(event: Event<"refusal-delta">): void {
    const message = this.#message;
    if (message === undefined) return;
    const part = this.#partOf(message, "refusal");
    part.text += event.text;
    this.#deltas(part.head, event, NUMBER);
  }

  #note(raw: unknown): void {
    const message = this.#message;
    if (message === undefined) return;
    const { where, annotations } = this.#partOf(message, "output_text");
    const annotation = writeResponsesAnnotation(raw);
    if (annotation === undefined) return;
    const index = annotations.push(annotation) - 1;
    const fields = `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
    this.#frame("response.output_text.annotation.added", `${where},${fields}`);
  }

  /** The open part of a message, or a new one if that has another type or has ended. */
  #partOf(message: OpenMessage, type: "output_text" | "refusal"): Part {
    const { part } = message;
    const isText = type === "output_text";
    if (part?.type === type && !(isText && message.isFresh)) return part;
    if (isText) message.isFresh = false;
    this.#closeOpenPart(message);
    return (message.part = this.#openPart(message.place, type, message.parts.length));
  }

  #closeOpenPart(message: OpenMessage): void {
    if (message.part !== undefined) message.parts.push(this.#closePart(message.part));
    message.part = undefined;
  }

  #openPart(place: Place, type: PartType, index: number): Part {
    const form = partForms[type];
    const where = `${place.fields},"${form.of}_index":${index}`;
    this.#frame(`${form.part}.added`, `${where},"part":${partText(type, '""', "[]", "[]")}`);
    const delta = `${form.text}.delta`;
    const head = `event: ${delta}\ndata: {"type":"${delta}",${where},"delta":`;
    return { type, where, head, text: "", annotations: [], logprobs: [] };
  }

  /** Closes a part and returns it as JSON text. */
  #closePart({ type, where, text, annotations, logprobs }: Part): string {
    const form = partForms[type];
    const whole = JSON.stringify(text);
    const probed = logprobs.length === 0 ? "[]" : JSON.stringify(logprobs);
    const noted = annotations.length === 0 ? "[]" : JSON.stringify(annotations);
    const field = type === "refusal" ? "refusal" : "text";
    const more = type === "output_text" ? `,"logprobs":${probed}` : "";
    this.#frame(`${form.text}.done`, `${where},"${field}":${whole}${more}`);
    const part = partText(type, whole, noted, probed);
    this.#frame(`${form.part}.done`, `${where},"part":${part}`);
    return part;
  }

  #endMessage({ complete, extra }: Event<"text-end">): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#closeOpenPart(message);
    this.#message = undefined;
    const { place, parts, phase } = message;
    const status = complete === false ? "incomplete" : "completed";
    this.#done(place, messageText({ status, phase, extra }, place.id, parts.join(",")));
  }

  #openReasoning({ id }: Event<"reasoning-start">): void {
    const place = this.#add(
      id,
      "rs",
      (id) => `{"type":"reasoning","id":${JSON.stringify(id)},"summary":[]}`,
    );
    this.#reasoning = { place, summary: [], content: [] };
  }

  #think(event: Event<"reasoning-delta">): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    const parts = open[event.of];
    while (parts.length <= event.part) {
      this.#closeLast(parts);
      const type = event.of === "summary" ? "summary_text" : "reasoning_text";
      parts.push(this.#openPart(open.place, type, parts.length));
    }
    const part = parts[event.part];
    if (part === undefined) return;
    part.text += event.text;
    this.#deltas(part.head, event, NUMBER);
  }

  #closeLast(parts: readonly Part[]): void {
    const last = parts.at(-1);
    if (last !== undefined) this.#closePart(last);
  }

  #endReasoning({ encrypted, details, complete, extra }: Event<"reasoning-end">): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    const { place } = open;
    const item: Reasoning = {
      type: "reasoning",
      summary: open.summary.map(({ text }) => text),
      content: open.content.map(({ text }) => text),
      encrypted,
      details,
      status: complete === false ? "incomplete" : "completed",
      extra,
    };
    loseSignature(item, this.#lose);
    this.#closeLast(open.summary);
    this.#closeLast(open.content);
    this.#reasoning = undefined;
    this.#done(place, outputItemText(item, place.id) ?? "");
  }

  #openCall(start: CallStart<ClientName>): void {
    const kind = callKindOf(start.kind);
    let place: Place | undefined;
    let head = "";
    if (kind.events !== undefined) {
      const blank = { ...start, input: "", status: "in_progress" } as const;
      place = this.#add(start.itemId, kind.prefix, (id) => callText(blank, id));
      const type = `${kind.events}.delta`;
      head = `event: ${type}\ndata: {"type":"${type}",${place.fields},"delta":`;
    }
    this.#calls.set(start.call, { start, kind, place, head, input: "" });
  }

  /**
   * Closes a call, unless it was cut off and some clients would run it. A call without input events
   * contains a value, which must be whole: it is announced and closed at once.
   */
  #endCall({ call: number, complete }: Event<"call-end">): void {
    const call = this.#calls.get(number);
    if (call === undefined) return;
    const { start, kind, input } = call;
    let { place } = call;
    if (!complete && canRun(kind, input)) return;
    const made = { ...start, input, status: complete ? "completed" : "incomplete" } as const;
    if (place === undefined) {
      const begun = { ...made, status: "in_progress" } as const;
      place = this.#add(start.itemId, kind.prefix, (id) => callText(begun, id));
      return this.#done(place, callText(made, place.id));
    }
    const text = JSON.stringify(input);
    const named = kind.kind === "custom" ? "" : `"name":${JSON.stringify(start.name)},`;
    this.#frame(`${kind.events}.done`, `${place.fields},${named}"${kind.input}":${text}`);
    this.#done(place, callText(made, place.id, text));
  }

  #showHosted({ type, item, raw }: Event<"item-start" | "item-note" | "item-end">): void {
    if (type === "item-end") return this.#endHosted(item, raw);
    if (type === "item-start") {
      const given = typeof raw.id === "string" && raw.id !== "" ? raw.id : undefined;
      const place = this.#add(given, "item", (id) => JSON.stringify({ ...raw, id }));
      this.#hosted.set(item, { place, raw });
      return;
    }
    const found = this.#hosted.get(item);
    if (found === undefined || typeof raw.type !== "string") return;
    if (!isHostedEvent(found.raw.type, raw.type)) return;
    const { type: name, sequence_number: _, ...fields } = raw;
    const { id, index } = found.place;
    const place = { ...("item_id" in fields && { item_id: id }), output_index: index };
    this.#frame(name, JSON.stringify({ ...fields, ...place }).slice(1, -1));
  }

  #endHosted(item: number, raw: Fields): void {
    const found = this.#hosted.get(item);
    if (found === undefined) return;
    this.#hosted.delete(item);
    this.#done(found.place, JSON.stringify({ ...raw, id: found.place.id }));
  }
}

/** A part as JSON text; the values are given as JSON text. */
function partText(type: PartType, text: string, annotations: string, logprobs: string): string {
  if (type === "refusal") return `{"type":"refusal","refusal":${text}}`;
  const more = type === "output_text" ? `,"annotations":${annotations},"logprobs":${logprobs}` : "";
  return `{"type":"${type}","text":${text}${more}}`;
}
